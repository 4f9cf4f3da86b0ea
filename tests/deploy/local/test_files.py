"""Directories of others, full disks, platforms without what we need: told with what to do."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from deploy.errors import DeployError, UsageError
from deploy.local import files


def test_a_directory_that_others_can_read_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    (tmp_path / "stack.json").touch()
    with pytest.raises(UsageError, match=r"others may read it \(mode 750\); run `chmod 700 "):
        files.make_private(tmp_path)


def test_an_empty_directory_is_made_private(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    files.make_private(tmp_path)
    assert tmp_path.stat().st_mode & 0o777 == 0o700


def test_a_directory_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(UsageError, match=rf"belongs to user {owner}, not to you \({owner + 1}\)"):
        files.make_private(tmp_path)


def test_a_file_in_the_place_of_the_directory_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="is no directory; name another one with --dir"):
        files.make_private(tmp_path / "file")


def test_a_secret_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "secret"
    files.write_private(path, "one")
    with pytest.raises(UnicodeEncodeError):
        files.write_private(path, "two\ud800")
    assert path.read_text() == "one"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (errno.ENOSPC, "is full; free some"),
        (errno.EDQUOT, "is full"),
        (errno.EROFS, "name another directory"),
    ],
)
def test_what_the_system_says_is_explained(number: int, told: str, tmp_path: Path) -> None:
    with pytest.raises(DeployError, match=told), files.explained(tmp_path):
        raise OSError(number, os.strerror(number), str(tmp_path))


def test_a_directory_that_cannot_be_made_is_told() -> None:
    nowhere = Path("/proc/nowhere")
    with pytest.raises(UsageError, match="/proc/nowhere cannot be made"), files.explained(nowhere):
        files.make_private(nowhere)


def test_other_faults_of_the_system_are_shown_as_they_are(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError), files.explained(tmp_path):
        tmp_path.read_bytes()


def test_a_platform_without_file_locks_is_told_what_else_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "fcntl", None)
    told = pytest.raises(UsageError, match=r"Linux and macOS.*REDIS_URL, MONGO_URI and scrapy.cfg")
    with told, files.locked(tmp_path):
        pass
