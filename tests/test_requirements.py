"""An egg says what its machine lacks when its spiders are listed, and costs a job nothing."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import spiders_project
from spiders_project import egg
from spiders_project.requirements import unmet, unmet_by

PACKAGE = Path(spiders_project.__file__).parent


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """``installed(name, version)`` puts a package's metadata where Python finds it first."""
    monkeypatch.syspath_prepend(tmp_path)

    def put(name: str, version: str) -> None:
        info = tmp_path / f"{name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")

    return put


@pytest.mark.parametrize(
    ("version", "requirement", "said"),
    [
        ("4.1", "some-db>=4.9,<5", ["some-db 4.1 is older than 4.9"]),
        ("4.9", "some-db>=4.9,<5", []),
        ("5.0rc1", "some-db>=4.9,<6", []),
        ("5.0", "some-db<5,>=4.9", ["some-db 5.0 is too new: it must be older than 5"]),
        ("4.9", "some-db==4.8", ["some-db 4.9 does not fit ==4.8"]),
        ("unknown", "some-db>=1", ["some-db unknown has no version that could be compared with >=1"]),
        ("4.1", "some-db>=9; python_version < '3'", []),
        ("4.1", "some-db[extra]>=4; extra == 'never'", []),
    ],
)
def test_packages_are_compared_with_what_is_asked_for(installed, version, requirement, said):
    installed("some_db", version)
    assert unmet([requirement]) == said


def test_a_missing_package_is_named_as_pip_names_it():
    assert unmet(["no-such-package>=1", "scrapy"]) == ["lacks no-such-package"]


@pytest.fixture
def an_egg(tmp_path):
    """``an_egg(requires, python)`` makes one of the package as it is here, under a version's name."""

    def make(requires: str, python: str = ">=3.10") -> Path:
        path = tmp_path / "1796067188-cc98fa7e.egg"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("EGG-INFO/PKG-INFO", f"Metadata-Version: 2.1\nName: x\nRequires-Python: {python}\n")
            archive.writestr("EGG-INFO/requires.txt", requires)
            for file in PACKAGE.rglob("*"):
                if file.is_file() and "__pycache__" not in file.parts:
                    archive.write(file, file.relative_to(PACKAGE.parent))
        return path

    return make


def run(path: Path, code: str, *args: str) -> subprocess.CompletedProcess[str]:
    script = f"import sys; sys.path.insert(0, {str(path)!r}); sys.argv[1:] = {list(args)!r}; {code}"
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=path.parent)


def test_the_metadata_of_an_egg_is_read_where_setuptools_writes_it(an_egg):
    path = an_egg("scrapy>=1\nno-such-package\n\n[:python_version < '3']\nnever\n", python=">=99")
    assert unmet_by(path) == [f"Python {sys.version.split()[0]} is older than 99", "lacks no-such-package"]


def test_a_listing_ends_with_a_line_for_each_package_before_anything_else_is_imported(an_egg):
    done = run(an_egg("no-such-package\nscrapy>=99\n"), "import spiders_project.settings", "list")
    assert done.returncode == 1
    assert done.stderr.startswith(f"{egg.UNMET}lacks no-such-package\n{egg.UNMET}scrapy ")
    assert len(done.stderr.splitlines()) == 2, "no traceback"
    assert done.stdout == ""


def test_a_job_is_not_checked_and_knows_its_version(an_egg):
    code = (
        "import spiders_project.settings; from spiders_project import egg; "
        "print(egg.version(), 'spiders_project.requirements' in sys.modules)"
    )
    done = run(an_egg("no-such-package\n"), code, "crawl", "site")
    assert done.stdout.split() == ["1796067188-cc98fa7e", "False"], done.stderr


def test_a_checkout_is_not_checked_and_has_no_version(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["scrapy", "list"])
    egg.refuse_unmet_requirements()
    assert egg.version() == ""
    assert egg.archive() is None
