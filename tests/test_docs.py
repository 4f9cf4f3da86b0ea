"""docs/redis-keys.md and docs/stats.md name what the code names, and nothing else."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from deploy import keys as fleet_keys
from spiders_project import statnames
from spiders_project.commands.frontier_verbs import VERBS
from spiders_project.keys import FleetKeys, Keys

ROOT = Path(__file__).parents[1]
CODE = ROOT / "spiders_project"


def first_cells(page: str) -> list[str]:
    """The first cell of each table row, without its backquotes."""
    return re.findall(r"^\| `([^`]+)` \|", (ROOT / "docs" / page).read_text(), re.MULTILINE)


def keys_in_code() -> set[str]:
    return names_of(Keys("NS"))


def names_of(keys) -> set[str]:
    arguments = {"bucket": "<n>", "host": "<host>", "worker": "<worker>", "job": "<job>"}
    found = set()
    for name, member in inspect.getmembers(type(keys)):
        if isinstance(member, property):
            found.update({getattr(keys, name)} if name not in ("fixed", "families") else ())
        elif inspect.isfunction(member) and not name.startswith("_"):
            given = [arguments[one] for one in inspect.signature(member).parameters if one in arguments]
            found.add(member(keys, *given))
    return {key.replace("NS", "<ns>") for key in found}


def test_a_purge_knows_every_key():
    keys = Keys("NS")
    found = {key.replace("<ns>", "NS") for key in keys_in_code()}
    assert all(key in keys.fixed or key.startswith(keys.families) for key in found)


def test_every_redis_key_has_a_row():
    rows = first_cells("redis-keys.md")
    assert len(rows) == len(set(rows))
    assert set(rows) == keys_in_code() | names_of(FleetKeys()) | set(fleet_keys.ALL) | {
        fleet_keys.releasing("<project>", "<version>")
    }


def test_every_key_that_a_script_builds_has_a_row():
    """The scripts build their keys themselves: ``ns .. ':name'``."""
    text = "".join(path.read_text() for path in (CODE / "frontier" / "lua").glob("*.lua"))
    built = set(re.findall(r"ns \.\. '(:[a-z_:]+)'", text))
    assert len(built) > 10
    known = {row.removeprefix("<ns>") for row in first_cells("redis-keys.md")}
    assert {
        name for name in built if name not in known and not any(one.startswith(f"{name}<") for one in known)
    } == set()


def test_every_stat_has_a_row():
    named = {value for name, value in vars(statnames).items() if name.isupper()}
    written = set()
    for path in CODE.rglob("*.py"):
        written |= set(re.findall(r"\bcount\(\s*\"([a-z_]+/[a-z_/]+)\"", path.read_text()))
    rows = first_cells("stats.md")
    assert len(rows) == len(set(rows))
    assert set(rows) == named | written


def test_every_verb_has_a_section():
    page = (ROOT / "docs" / "frontier.md").read_text()
    assert [verb for verb in VERBS if f"scrapy frontier {verb}" not in page] == []
