"""One egg from the checkout, checked before it travels.

scrapyd-client's own builder hides what setup.py says when it fails, builds once for each target and leaves
``build/`` in the checkout, whose stale files can get into the next egg. The egg itself is the same.
"""

from __future__ import annotations

import configparser
import io
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from deploy.errors import EggError, UsageError

PACKAGE = "spiders_project"
BUILD_TIMEOUT_SECONDS = 300


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
    """Refuse an egg that lacks a file of the package, has no settings entry point, or carries anything else.

    Raises:
        EggError: Says which files, and what to change.
    """
    if not zipfile.is_zipfile(io.BytesIO(egg)):
        raise EggError("the egg is no zip file")
    with zipfile.ZipFile(io.BytesIO(egg)) as archive:
        inside = set(archive.namelist())
        entry_points = configparser.ConfigParser()
        if "EGG-INFO/entry_points.txt" in inside:
            entry_points.read_string(archive.read("EGG-INFO/entry_points.txt").decode())
    if not entry_points.has_option("scrapy", "settings"):
        raise EggError(
            "the egg has no entry point [scrapy] settings, so Scrapyd cannot find its settings: see setup.py"
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
