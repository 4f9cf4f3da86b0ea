"""settings.py: the environment goes before it, and docs/settings.md says what it and config.py say."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from scrapy.settings import Settings, default_settings

from spiders_project.checks import check
from spiders_project.config import Options
from spiders_project.errors import ConfigError
from spiders_project.refusals import COMPONENTS, DERIVED, NOT_ON_THE_FRONTIER

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "settings.md").read_text()
BY_HOST = {"NODE_NAME": "the host's name"}


def load(**environ: str) -> dict[str, Any]:
    """The settings as Scrapy sees them with nothing but ``environ`` in the environment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.environ", environ)
        module = runpy.run_path(str(ROOT / "spiders_project" / "settings.py"))
    return {name: value for name, value in module.items() if name.isupper()}


OURS = load()
assert not OURS.pop("ENVIRONMENT_PROBLEMS")
SCRAPYS = {name: value for name, value in vars(default_settings).items() if name.isupper()}


# --- the environment -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("DOWNLOAD_DELAY", "0.25", 0.25),
        ("CONCURRENT_REQUESTS", "8", 8),
        ("ROBOTSTXT_OBEY", "false", False),
        ("SPIDER_MODULES", "a, b", ["a", "b"]),
        ("ITEM_PIPELINES", '{"a.B": 1}', {"a.B": 1}),
        ("LOG_LEVEL", "DEBUG", "DEBUG"),
        ("REDIS_URL", "redis://a/1", "redis://a/1"),
        ("REDIS_HOST", "b", "b"),
        ("FRONTIER_LEASE_SECONDS", "20", 20.0),
        ("MONGO_URI", "mongodb://c", "mongodb://c"),
    ],
)
def test_a_variable_of_the_same_name_goes_before(name, text, value):
    assert load(**{name: text})[name] == value
    assert load()[name] != value


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("DOWNLOAD_DELAY", "1s", "DOWNLOAD_DELAY is '1s' in the environment: it should be a number"),
        ("CONCURRENT_REQUESTS", "1.5", "CONCURRENT_REQUESTS is '1.5' in the environment: it should be a whole number"),
        ("ROBOTSTXT_OBEY", "yes", "ROBOTSTXT_OBEY is 'yes' in the environment: it should be True or False"),
        ("ITEM_PIPELINES", "[]", "ITEM_PIPELINES is malformed in the environment: it should be a JSON object"),
        ("REDIS_PARAMS", "{", "REDIS_PARAMS is malformed in the environment: it should be a JSON object"),
    ],
)
def test_a_malformed_variable_is_refused_when_settings_are_checked(name, text, expected):
    settings = Settings(load(**{name: text}))
    assert settings[name] == Settings(OURS)[name]
    with pytest.raises(ConfigError) as refused:
        check(settings.copy(), {})
    assert str(refused.value) == expected


def test_the_settings_as_they_stand_are_accepted():
    check(Settings(OURS), {})


def test_nothing_but_settings_stands_in_the_module():
    """An upper-case import would become a setting."""
    unknown = load().keys() - SCRAPYS.keys() - set(Options.names()) - rows("scrapy-redis's settings").keys()
    assert unknown == {"ENVIRONMENT_PROBLEMS"}


def test_nothing_that_runs_code_listens_on_a_port():
    assert OURS["TELNETCONSOLE_ENABLED"] is False
    assert OURS["REMOTE_CONTROL_ENABLED"] is False


# --- the page ------------------------------------------------------------------------------------


def rows(section: str) -> dict[str, list[str]]:
    """The table rows of a section, by the setting in their first cell."""
    text = re.search(rf"^## {section}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert text, f"docs/settings.md has no section {section!r}"
    found = {}
    for line in text[1].splitlines():
        if row := re.match(r"\| `([A-Z_]+)` \| (.*) \|$", line):
            assert row[1] not in found, f"{row[1]} stands twice"
            found[row[1]] = row[2].split(" | ")
    return found


def shown(name: str, value: Any) -> str:
    if name in BY_HOST:
        return BY_HOST[name]
    if value in (None, ""):
        return "unset"
    if isinstance(value, dict) and value:
        return "see settings.py"
    if isinstance(value, list):
        return f"`{','.join(map(str, value))}`" if value else "unset"
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def test_every_option_of_ours_has_a_row():
    meanings = {name.upper(): field.description for name, field in Options.model_fields.items()}
    expected = {name: [shown(name, value), meanings[name]] for name, value in Options.defaults().items()}
    assert rows("This project's options") == expected


def test_every_default_of_scrapys_that_we_change_has_a_row():
    changed = {name: value for name, value in OURS.items() if name in SCRAPYS and value != SCRAPYS[name]}
    expected = {name: [shown(name, SCRAPYS[name]), shown(name, value)] for name, value in changed.items()}
    assert {name: cells[:2] for name, cells in rows("Scrapy's settings").items()} == expected


def test_every_setting_of_scrapy_redis_that_stands_here_has_a_row():
    expected = {
        name: shown(name, value) for name, value in OURS.items() if name not in SCRAPYS and name not in Options.names()
    }
    assert {name: cells[0] for name, cells in rows("scrapy-redis's settings").items()} == expected


def test_every_refused_setting_has_a_row():
    assert rows("Refused").keys() == {*NOT_ON_THE_FRONTIER, *DERIVED, *COMPONENTS}
