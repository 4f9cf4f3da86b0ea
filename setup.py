"""What goes into the egg; `scrapyd-deploy` and `python -m deploy push` both build from here."""

from pathlib import Path

from setuptools import find_packages, setup

from spiders_project import __version__

lines = Path(__file__).with_name("requirements.txt").read_text().splitlines()
requirements = [line.partition("#")[0].strip() for line in lines]

setup(
    name="spiders_project",
    version=__version__,
    packages=find_packages(include=["spiders_project", "spiders_project.*"]),
    package_data={"spiders_project": ["*.txt", "*.toml", "**/*.lua", "**/*.tmpl", "py.typed"]},
    # Scrapyd finds the project's settings by this entry point.
    entry_points={"scrapy": ["settings = spiders_project.settings"]},
    # The egg carries what a node must have, and says what is missing when Scrapyd lists its spiders.
    python_requires=">=3.10",
    install_requires=[one for one in requirements if one],
    zip_safe=True,
)
