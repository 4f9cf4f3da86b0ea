"""What goes into the egg; `scrapyd-deploy` and `python -m deploy push` both build from here."""

from setuptools import find_packages, setup

from spiders_project import __version__

setup(
    name="spiders_project",
    version=__version__,
    packages=find_packages(include=["spiders_project", "spiders_project.*"]),
    package_data={"spiders_project": ["*.txt", "*.toml", "**/*.lua", "**/*.tmpl", "py.typed"]},
    # Scrapyd finds the project's settings by this entry point.
    entry_points={"scrapy": ["settings = spiders_project.settings"]},
    zip_safe=True,
)
