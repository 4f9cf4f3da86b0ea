"""Version names sort by time also among those of scrapyd-deploy, also after a rollback."""

from __future__ import annotations

import re
import subprocess

import pytest
from scrapyd import eggstorage

from deploy.errors import UsageError
from deploy.version_names import (
    check_version_name,
    commit_of,
    new_version,
    origin,
    rollback_version,
    sorted_versions,
    time_of,
)


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
    assert eggstorage.sorted_versions(names[::-1]) == names
    assert eggstorage.sorted_versions([*names, "1796067006"])[-1] == "1796067006"


@pytest.mark.parametrize("name", ["1.0", "a b", "", "a/b", "ä", "x\n"])
def test_a_name_that_scrapyd_would_rewrite_is_refused(name):
    with pytest.raises(UsageError, match="cannot name a version"):
        check_version_name(name)


@pytest.mark.parametrize(
    "names",
    [[], ["1", "10", "2"], ["1796067001", "1796067002-12345678"], ["v9", "1796067001-aaaaaaaa", "v10"], ["1.0", "x_1"]],
)
def test_versions_are_sorted_as_scrapyd_sorts_them(names):
    assert sorted_versions(names) == eggstorage.sorted_versions(names)


def test_a_new_version_is_newer_than_all_where_another_clock_was_ahead(tmp_path):
    held = ["1796067200-aaaaaaaa", "v9", "1796067100"]
    assert new_version(tmp_path, now=1796067188, held=held) == "1796067201-nogit"


@pytest.mark.parametrize(
    "held",
    [
        ["1796067001-aaaaaaaa"],
        ["1796067001", "1796067002-12345678"],
        ["1", "2", "10"],
        ["v9", "v10", "1796067001"],
        ["1796067300-aaaaaaaa"],
    ],
)
def test_a_rollback_sorts_last_also_after_further_rollbacks(held):
    to = held[0]
    known = list(held)
    for turn in range(3):
        version = rollback_version(known[-1] if turn else to, [known, []], now=1796067200)
        known.append(version)
        assert eggstorage.sorted_versions(known)[-1] == version
        assert origin(version) == to
        assert time_of(version) >= 1796067200
        check_version_name(version)
    assert len(known[-1]) == len(known[-2]), "names do not grow from rollback to rollback"


def test_what_a_name_tells():
    assert time_of("1796067188-cc98fa7e-dirty") == time_of("1796067188") == 1796067188
    assert time_of("v1796067188") is time_of("hotfix-7") is None
    assert commit_of("1796067188-cc98fa7e") == commit_of("v9-1796067200-back-to-1796067188-cc98fa7e") == "cc98fa7e"
    assert commit_of("1796067188-cc98fa7e-dirty") is commit_of("1796067188-nogit") is commit_of("v9") is None
