"""The record of what was released: the newest is told by time, and its egg is at hand."""

from __future__ import annotations

import pytest
from scrapyd.eggstorage import sorted_versions

from deploy import released
from deploy.errors import DeployError
from deploy.released import find_egg, newest_version, record


def test_the_newest_is_chosen_by_time_where_scrapyd_sorts_by_name(tmp_path):
    versions = sorted_versions(["1796067001-aaaaaaaa", "1796067002", "v10", "v9"])
    assert versions[-1] == "v9"
    assert newest_version(tmp_path, "p", versions) == "1796067002"


def test_a_name_without_time_is_newest_when_we_pushed_it_last(tmp_path):
    record(tmp_path, "p", "hotfix", b"egg", 1796067003.0)
    record(tmp_path, "other", "x", b"egg", 1.0)
    assert newest_version(tmp_path, "p", ["1796067002", "hotfix"]) == "hotfix"
    assert newest_version(tmp_path, "p", ["1796067004", "hotfix"]) == "1796067004"
    assert newest_version(tmp_path, "p", ["1796067002"]) == "1796067002"


def test_without_any_time_scrapyds_order_holds_and_without_versions_there_is_none(tmp_path):
    assert newest_version(tmp_path, "p", ["a", "b"]) == "b"
    assert newest_version(tmp_path, "p", []) is None


def test_a_damaged_record_is_no_record(tmp_path):
    (tmp_path / ".local").mkdir()
    (tmp_path / ".local/released.json").write_text("{")
    assert newest_version(tmp_path, "p", ["a"]) == "a"


def test_the_last_eggs_are_kept_for_their_owner_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(released, "KEEP_EGGS", 2)
    for number in range(4):
        record(tmp_path, "p", f"v{number}", b"egg %d" % number, float(number))
    assert find_egg(tmp_path, "p", "v3") == b"egg 3"
    assert find_egg(tmp_path, "p", "1796067200-back-to-v2") == b"egg 2"
    with pytest.raises(DeployError, match=r"the egg of v0 is not at hand"):
        find_egg(tmp_path, "p", "v0")
    assert (tmp_path / ".local").stat().st_mode & 0o077 == 0
