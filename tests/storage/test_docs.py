"""docs/storage.md knows every name that the storage writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from spiders_project import statnames
from spiders_project.pipelines.documents import OURS

DOCS = Path(__file__).resolve().parents[2] / "docs"
STATS = [value for value in vars(statnames).values() if str(value).startswith(("mongo/", "items/"))]


@pytest.mark.parametrize("name", sorted(OURS))
def test_every_field_of_ours_is_explained(name):
    assert f"| `{name}` |" in (DOCS / "storage.md").read_text()


@pytest.mark.parametrize("name", STATS)
def test_every_stat_is_named(name):
    assert f"`{name}" in (DOCS / "storage.md").read_text()
