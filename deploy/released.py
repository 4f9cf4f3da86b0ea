"""What this machine has released: when each version, and its egg, for the day on which one has to go back to it.

Scrapyd gives no egg back. Eggs stay with the operator, in ``.local/eggs``, and not in Redis or MongoDB: code that a
node will run must not come from where every worker can write. Another machine builds the egg anew from the commit
that the version's name tells.
"""

from __future__ import annotations

import io
import json
import subprocess
import tempfile
import time
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deploy.egg import build_egg
from deploy.errors import DeployError
from deploy.local.files import make_private, write_private
from deploy.version_names import commit_of, origin, time_of

if TYPE_CHECKING:
    from collections.abc import Iterable

_DIRECTORY = ".local"  # the embedded stack keeps its passwords there, so it is the owner's alone
_RECORD = "released.json"
_EGGS = "eggs"
#: An egg has some 200 kB.
KEEP_EGGS = 20


def record(root: Path, project: str, version: str, egg: bytes, now: float | None = None) -> None:
    """Remember a release: its time, for names that tell none, and its egg."""
    make_private(root / _DIRECTORY)
    times = {**_times(root, project), version: time.time() if now is None else now}
    records = {**_records(root), project: times}
    write_private(root / _DIRECTORY / _RECORD, json.dumps(records, indent=2) + "\n")
    eggs = root / _DIRECTORY / _EGGS / project
    eggs.mkdir(mode=0o700, parents=True, exist_ok=True)
    (eggs / f"{version}.egg").write_bytes(egg)
    for surplus in sorted(eggs.glob("*.egg"), key=lambda path: path.stat().st_mtime)[:-KEEP_EGGS]:
        surplus.unlink()


def find_egg(root: Path, project: str, version: str) -> bytes:
    """The egg of ``version``: the copy of this machine, or one built from the commit in the version's name.

    Raises:
        DeployError: There is neither.
        EggError: The commit's egg cannot be built.
    """
    for name in (version, origin(version)):
        path = root / _DIRECTORY / _EGGS / project / f"{name}.egg"
        if path.is_file():
            return path.read_bytes()
    commit = commit_of(version)
    files = _files_of(root, commit) if commit else None
    if files is None:
        raise DeployError(
            f"the egg of {version} is not at hand: this machine keeps no copy in {_DIRECTORY}/{_EGGS}, and "
            f"{f'git knows no commit {commit}' if commit else 'its name tells no clean commit to build it from'}; "
            "run this where it was released, or check the code out and push it"
        )
    with tempfile.TemporaryDirectory(prefix="egg-") as name:
        zipfile.ZipFile(io.BytesIO(files)).extractall(name)
        return build_egg(Path(name))


def release_times(root: Path, project: str, versions: Iterable[str]) -> dict[str, float]:
    """When each of ``versions`` was released, in unix seconds: by its name, or by our record; others are left out."""
    recorded = _times(root, project)
    return {version: at for version in versions if (at := time_of(version) or recorded.get(version)) is not None}


def newest_version(root: Path, project: str, versions: Iterable[str]) -> str | None:
    """The newest of ``versions`` by their times; without any, Scrapyd's order holds, which is that of the names."""
    known = list(versions)
    times = release_times(root, project, known)
    if times:
        return max(times, key=lambda version: (times[version], version))
    return known[-1] if known else None


def _times(root: Path, project: str) -> dict[str, float]:
    of_project = _records(root).get(project)
    if not isinstance(of_project, dict):
        return {}
    return {version: at for version, at in of_project.items() if isinstance(at, (int, float))}


def _records(root: Path) -> dict[str, Any]:
    try:
        records = json.loads((root / _DIRECTORY / _RECORD).read_text())
    except (OSError, ValueError):
        return {}
    return records if isinstance(records, dict) else {}


def _files_of(root: Path, commit: str) -> bytes | None:
    command = ["git", "-C", str(root), "archive", "--format=zip", commit, "."]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None
