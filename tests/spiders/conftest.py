import pytest

from deploy.sample_site import serve


@pytest.fixture(scope="session")
def shop():
    with serve() as site:
        yield site
