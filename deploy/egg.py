"""One egg from the checkout, checked before it travels.

scrapyd-client's own builder hides what setup.py says when it fails, builds once for each target and leaves
``build/`` in the checkout, whose stale files can get into the next egg. The egg itself is the same.
"""

from __future__ import annotations

import configparser
import io
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from deploy.errors import EggError, UsageError

PACKAGE = "spiders_project"
BUILD_TIMEOUT_SECONDS = 300
LIST_TIMEOUT_SECONDS = 60
_ENTRY_POINTS = "EGG-INFO/entry_points.txt"
#: Files that hold secrets, whatever pattern of package_data let them in.
_SECRET_NAME = re.compile(
    r"(\.env.*|\.netrc|\.pgpass|.*\.(pem|key|p12|pfx|jks|kdbx)|id_(rsa|dsa|ecdsa|ed25519).*|credentials.*|scrapy\.cfg)",
    re.IGNORECASE,
)
_SECRET_TEXT = re.compile(
    rb"-----BEGIN [A-Z ]*PRIVATE KEY-----"
    # A URL with a password, unless it is an example or a template.
    rb"|(?:rediss?|mongodb(?:\+srv)?|https?)://[^/\s:@\"'{}<$%*]*:(?!password@|secret@)[^@/\s\"'{}<$%*]+@[a-z0-9]"
)


def project_root() -> Path:
    """The folder of the scrapy.cfg that is nearest above the working directory.

    Raises:
        UsageError: There is none.
    """
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "scrapy.cfg").is_file():
            return folder
    raise UsageError(f"no scrapy.cfg in {here} or above it: run this inside the project")


def build_egg(root: Path) -> bytes:
    """Build the egg of the checkout at ``root`` and check it; nothing is written into the checkout.

    Raises:
        EggError: The build failed (its output is in the text), or the egg is not whole.
    """
    if not (root / "setup.py").is_file():
        raise UsageError(f"{root} has no setup.py, which says what goes into the egg")
    with tempfile.TemporaryDirectory(prefix="egg-") as name:
        temp = Path(name)
        (temp / "info").mkdir()
        command = [
            *(sys.executable, "setup.py"),
            *("egg_info", "--egg-base", str(temp / "info")),
            *("build", "--build-base", str(temp / "build")),
            *("bdist_egg", "--bdist-dir", str(temp / "bdist"), "--dist-dir", str(temp / "dist")),
        ]
        try:
            build = subprocess.run(
                command,
                cwd=root,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=BUILD_TIMEOUT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise EggError(f"setup.py did not end within {BUILD_TIMEOUT_SECONDS} s\n{error.output or ''}") from error
        eggs = sorted((temp / "dist").glob("*.egg"))
        if build.returncode or len(eggs) != 1:
            raise EggError(f"the egg cannot be built: setup.py ended with {build.returncode}\n{build.stdout.strip()}")
        egg = eggs[0].read_bytes()
    check_egg(egg, root)
    return egg


def check_egg(egg: bytes, root: Path) -> None:
    """Refuse an egg that is not what a node needs: nothing missing, nothing else, and no secret.

    Raises:
        EggError: Says which files, and what to change.
    """
    if not zipfile.is_zipfile(io.BytesIO(egg)):
        raise EggError("the egg is no zip file")
    with zipfile.ZipFile(io.BytesIO(egg)) as archive:
        inside = set(archive.namelist())
        secrets = sorted(name for name in inside if _is_secret(name, archive))
    if not settings_module(egg):
        raise EggError(
            "the egg has no entry point [scrapy] settings, so Scrapyd cannot find its settings: see setup.py"
        )
    if (root / "requirements.txt").is_file() and "EGG-INFO/requires.txt" not in inside:
        raise EggError(
            "the egg does not carry requirements.txt, so no node can be checked against it: setup.py must read "
            "install_requires from there"
        )
    missing = sorted(package_files(root) - inside)
    if missing:
        raise EggError(
            f"the egg lacks {', '.join(missing)}: add the pattern to package_data in setup.py, "
            "or an __init__.py to its folder"
        )
    strangers = sorted(name for name in inside if name.split("/", 1)[0] not in {PACKAGE, "EGG-INFO"})
    if strangers:
        raise EggError(f"the egg carries {', '.join(strangers)}: only {PACKAGE} belongs there, see setup.py")
    if secrets:
        raise EggError(
            f"the egg carries what looks like a secret, in {', '.join(secrets)}: every node would keep it; "
            "give it to the nodes in their environment"
        )


def settings_module(egg: bytes) -> str | None:
    """The module that the egg's entry point names as its settings; None without one."""
    entry_points = configparser.ConfigParser()
    with zipfile.ZipFile(io.BytesIO(egg)) as archive:
        if _ENTRY_POINTS in archive.namelist():
            entry_points.read_string(archive.read(_ENTRY_POINTS).decode())
    return entry_points.get("scrapy", "settings", fallback=None)


def list_spiders(egg: bytes) -> list[str]:
    """The spiders of an egg, listed on this machine as a node would list them.

    Raises:
        EggError: It cannot be imported here; shows why.
    """
    with tempfile.TemporaryDirectory(prefix="egg-") as name:
        path = Path(name) / "project.egg"
        path.write_bytes(egg)
        places = os.pathsep.join(filter(None, (str(path), os.environ.get("PYTHONPATH"))))
        environment = {**os.environ, "PYTHONPATH": places, "SCRAPY_SETTINGS_MODULE": settings_module(egg) or ""}
        try:
            done = subprocess.run(
                [sys.executable, "-m", "scrapy", "list", "-s", "LOG_STDOUT=0"],
                cwd=name,
                env=environment,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=LIST_TIMEOUT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise EggError(f"the egg's spiders cannot be listed here within {LIST_TIMEOUT_SECONDS} s") from error
    if done.returncode:
        raise EggError(f"the egg's spiders cannot be listed on this machine:\n{(done.stderr or done.stdout).strip()}")
    if not (spiders := done.stdout.split()):
        raise EggError("the egg has no spiders: is SPIDER_MODULES right in its settings?")
    return spiders


def _is_secret(name: str, archive: zipfile.ZipFile) -> bool:
    if _SECRET_NAME.fullmatch(name.rsplit("/", 1)[-1]):
        return True
    return not name.endswith(".pyc") and bool(_SECRET_TEXT.search(archive.read(name)))


def package_files(root: Path) -> set[str]:
    """Every file of the package that a worker may need, relative to ``root``."""
    return {
        path.relative_to(root).as_posix()
        for path in (root / PACKAGE).rglob("*")
        if path.is_file()
        and "__pycache__" not in path.parts
        and path.suffix != ".pyc"
        and not path.name.startswith(".")
        and not path.name.endswith("~")
    }
