"""Version names sort by time also among those of scrapyd-deploy, and a version is never pushed over another."""

from __future__ import annotations

import re
import subprocess

import pytest
from scrapyd.eggstorage import sorted_versions

from deploy.errors import UsageError
from deploy.release import check_version_name, new_version, newest_version, record


def test_a_version_is_its_time_and_its_commit(tmp_path):
    assert new_version(tmp_path, now=1796067188.9) == "1796067188-nogit"
    for command in (
        ["init", "-q"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"],
    ):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    assert re.fullmatch(r"1796067188-[0-9a-f]{8}", new_version(tmp_path, now=1796067188))
    (tmp_path / "file").write_text("1")
    subprocess.run(["git", "add", "file"], cwd=tmp_path, check=True)
    assert new_version(tmp_path, now=1796067188).endswith("-dirty")


@pytest.mark.parametrize("commit", ["cc98fa7e", "12345678", "12e45678", "nogit", "a1234567-dirty"])
def test_scrapyds_own_newest_is_right_among_ours_and_scrapyd_deploys(commit):
    """A plain curl without ``_version`` runs what Scrapyd sorts last."""
    names = ["1796067001", f"1796067002-{commit}", "1796067003", f"1796067004-{commit}", "1796067005-cc98fa7e"]
    assert sorted_versions(names[::-1]) == names
    assert sorted_versions([*names, "1796067006"])[-1] == "1796067006"


@pytest.mark.parametrize("name", ["1.0", "a b", "", "a/b", "ä", "x\n"])
def test_a_name_that_scrapyd_would_rewrite_is_refused(name):
    with pytest.raises(UsageError, match="cannot name a version"):
        check_version_name(name)


def test_the_newest_is_chosen_by_time_where_scrapyd_sorts_by_name(tmp_path):
    versions = sorted_versions(["1796067001-aaaaaaaa", "1796067002", "v10", "v9"])
    assert versions[-1] == "v9"
    assert newest_version(tmp_path, "p", versions) == "1796067002"


def test_a_name_without_time_is_newest_when_we_pushed_it_last(tmp_path):
    record(tmp_path, "p", "hotfix", 1796067003.0)
    record(tmp_path, "other", "x", 1.0)
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
