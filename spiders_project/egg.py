"""The egg that this code runs from: its version's name, and whether the machine has the packages that it needs.

Runs before anything else of the project is imported, in every job, so it knows nothing and costs nothing.
"""

from __future__ import annotations

import sys
import zipimport
from pathlib import Path

#: How each line about a package begins, so that whoever pushed the egg finds them among what else a node says.
UNMET = "unmet requirement: "


def archive() -> Path | None:
    """The egg that this module was imported from; None in a checkout."""
    loader = globals()["__loader__"]
    return Path(loader.archive) if isinstance(loader, zipimport.zipimporter) else None


def version() -> str:
    """The version's name, as Scrapyd's egg storage names the file; empty in a checkout."""
    egg = archive()
    return egg.stem if egg else ""


def refuse_unmet_requirements() -> None:
    """Where Scrapyd lists the spiders of an egg, end with a line for each package that is missing or does not fit.

    A node that lacks a package would accept every job and "finish" it within a second. Jobs are not checked again,
    and outside an egg ``pip`` is the one to say it.
    """
    egg = archive()
    if egg is None or sys.argv[1:2] != ["list"]:
        return
    from spiders_project.requirements import unmet_by  # noqa: PLC0415 - no job pays for it

    if faults := unmet_by(egg):
        sys.exit("\n".join(f"{UNMET}{fault}" for fault in faults))
