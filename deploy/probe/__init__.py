"""An egg that ``deploy check`` pushes to a node for a moment: in place of spiders it prints what the node is like.

Scrapyd tells nobody its settings, its disk or its packages. But it lists the spiders of an egg, in the environment
in which it would run its jobs, and hands over what that printed.
"""

from __future__ import annotations

import io
import zipfile
from importlib.resources import files

import spiders_project

_PACKAGE = "node_probe"
_METADATA = "Metadata-Version: 1.0\nName: node_probe\nVersion: 1\n"


def probe_egg(requirements: str) -> bytes:
    """The egg; ``requirements`` is the text of requirements.txt, against which it checks the node's packages."""
    lines = (line.partition("#")[0].strip() for line in requirements.splitlines())
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as egg:
        egg.writestr("EGG-INFO/PKG-INFO", _METADATA)
        egg.writestr("EGG-INFO/entry_points.txt", f"[scrapy]\nsettings = {_PACKAGE}.facts\n")
        egg.writestr("EGG-INFO/requires.txt", "\n".join(line for line in lines if line))
        egg.writestr(f"{_PACKAGE}/__init__.py", "")
        egg.writestr(f"{_PACKAGE}/facts.py", (files(__name__) / "facts.py").read_text("utf-8"))
        egg.writestr(f"{_PACKAGE}/requirements.py", (files(spiders_project) / "requirements.py").read_text("utf-8"))
    return content.getvalue()
