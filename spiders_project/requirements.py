"""Whether the packages of this machine fit what an egg asks for; knows the standard library and ``packaging`` alone."""

from __future__ import annotations

import platform
from importlib import metadata
from typing import TYPE_CHECKING
from zipfile import Path as ZipPath

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def unmet_by(egg: Path) -> list[str]:
    """What this machine lacks of what the metadata in ``egg`` asks for, one phrase each."""
    carried = metadata.PathDistribution(ZipPath(str(egg), "EGG-INFO/"))
    python = carried.metadata.get_all("Requires-Python") or ("",)
    return [
        *_version_fault("Python", platform.python_version(), SpecifierSet(str(python[0]))),
        *unmet(carried.requires or ()),
    ]


def unmet(requirements: Iterable[str]) -> list[str]:
    """What is wrong with the packages here: ``lacks scrapy-redis``, ``pymongo 4.1 is older than 4.13``."""
    parsed = [Requirement(text) for text in requirements]
    wanted = [one for one in parsed if one.marker is None or one.marker.evaluate({"extra": ""})]
    return [fault for one in wanted for fault in _package_fault(one)]


def _package_fault(wanted: Requirement) -> list[str]:
    try:
        installed = metadata.version(wanted.name)
    except metadata.PackageNotFoundError:
        return [f"lacks {wanted.name}"]
    return _version_fault(wanted.name, installed, wanted.specifier)


def _version_fault(name: str, installed: str, specifier: SpecifierSet) -> list[str]:
    try:
        known = Version(installed)
    except InvalidVersion:
        return [f"{name} {installed} has no version that could be compared with {specifier}"]
    if specifier.contains(known, prereleases=True):
        return []
    for one in specifier:
        if one.operator == ">=" and known < Version(one.version):
            return [f"{name} {installed} is older than {one.version}"]
        if one.operator == "<" and known >= Version(one.version):
            return [f"{name} {installed} is too new: it must be older than {one.version}"]
    return [f"{name} {installed} does not fit {specifier}"]
