"""What travels to the nodes is whole, is nothing else, and says why when it cannot be built."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from deploy import egg as egg_module
from deploy.egg import build_egg, check_egg, list_spiders, project_root
from deploy.errors import EggError, UsageError


def tree(root):
    return {path.relative_to(root) for path in root.rglob("*")}


def test_the_egg_holds_the_package_with_its_data_and_nothing_else(checkout):
    before = tree(checkout)
    with zipfile.ZipFile(io.BytesIO(build_egg(checkout))) as egg:
        names = egg.namelist()
        entry_points = egg.read("EGG-INFO/entry_points.txt").decode()
        requires = egg.read("EGG-INFO/requires.txt").decode()
    assert "settings = spiders_project.settings" in entry_points
    assert "scrapy-redis<0.10,>=0.9.1" in requires, "nodes are checked against requirements.txt"
    data = {f.relative_to(checkout).as_posix() for f in checkout.glob("spiders_project/**/*.lua")}
    assert data, "the frontier's scripts are data files of the package"
    assert data <= set(names)
    assert {name.split("/")[0] for name in names} == {"spiders_project", "EGG-INFO"}
    assert tree(checkout) == before, "a build leaves nothing in the checkout"


def test_a_data_file_that_setup_py_forgets_is_named(checkout):
    (checkout / "spiders_project/frontier/countries.csv").write_text("de\n")
    with pytest.raises(
        EggError, match=r"lacks spiders_project/frontier/countries\.csv: add the pattern to package_data"
    ):
        build_egg(checkout)


def test_a_folder_without_init_is_named(checkout):
    (checkout / "spiders_project/extra").mkdir()
    (checkout / "spiders_project/extra/code.py").write_text("")
    with pytest.raises(EggError, match=r"lacks spiders_project/extra/code\.py.*__init__"):
        build_egg(checkout)


def test_what_belongs_to_the_operator_does_not_travel(checkout):
    setup = checkout / "setup.py"
    setup.write_text(setup.read_text().replace('"spiders_project.*"]', '"spiders_project.*", "deploy", "deploy.*"]'))
    with pytest.raises(EggError, match=r"carries .*deploy/cli\.py"):
        build_egg(checkout)


def test_an_egg_without_the_settings_entry_point_is_refused(checkout):
    setup = checkout / "setup.py"
    setup.write_text(setup.read_text().replace('entry_points={"scrapy"', 'entry_points={"other"'))
    with pytest.raises(EggError, match="no entry point"):
        build_egg(checkout)


def test_a_failed_build_shows_what_setup_py_said(checkout):
    (checkout / "setup.py").write_text("print('hello from setup'); raise SystemExit('out of cheese')\n")
    with pytest.raises(EggError, match=r"(?s)ended with 1\n.*hello from setup.*out of cheese"):
        build_egg(checkout)


def test_a_build_that_hangs_is_ended(checkout, monkeypatch):
    monkeypatch.setattr(egg_module, "BUILD_TIMEOUT_SECONDS", 1)
    (checkout / "setup.py").write_text("import time; time.sleep(60)\n")
    with pytest.raises(EggError, match="did not end within 1 s"):
        build_egg(checkout)


def test_stock_scrapyd_deploy_hides_what_setup_py_said(checkout):
    """Why the builder is ours: the same failure there is a CalledProcessError and nothing more."""
    (checkout / "setup.py").write_text("raise SystemExit('out of cheese')\n")
    program = Path(sys.executable).with_name("scrapyd-deploy")
    command = [program, "--build-egg", "x.egg"]
    stock = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
    assert stock.returncode != 0
    assert "out of cheese" not in stock.stdout + stock.stderr


def test_a_folder_without_setup_py_or_scrapy_cfg_is_wrong_use(tmp_path, monkeypatch):
    with pytest.raises(UsageError, match=r"no setup\.py"):
        build_egg(tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"no scrapy\.cfg"):
        project_root()


def test_the_root_is_found_from_a_folder_below(checkout, monkeypatch):
    monkeypatch.chdir(checkout / "spiders_project")
    assert project_root() == checkout


def test_an_egg_without_the_requirements_is_refused(checkout):
    setup = checkout / "setup.py"
    setup.write_text(setup.read_text().replace("install_requires=", "platforms="))
    with pytest.raises(EggError, match=r"does not carry requirements\.txt"):
        build_egg(checkout)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("spiders/accounts.py", "URL = 'mongodb://crawler:hunter2@db.example.org/'\n"),
        ("server.txt", "-----BEGIN RSA PRIVATE KEY-----"),
        ("credentials.toml", "password = 'hunter2'"),
    ],
)
def test_what_looks_like_a_secret_does_not_travel(checkout, name, text):
    (checkout / "spiders_project" / name).write_text(text)
    with pytest.raises(EggError, match="looks like a secret") as refused:
        build_egg(checkout)
    assert name in str(refused.value)
    assert "hunter2" not in str(refused.value)


def test_an_egg_is_listed_here_as_a_node_would_list_it(checkout):
    """The checkout of the tests is importable as well, and must not answer in the egg's place."""
    (checkout / "spiders_project/spiders/extra.py").write_text(
        "import scrapy  # redis://:password@host:6379/0 is an example, and no secret\n"
        "class Extra(scrapy.Spider):\n    name = 'extra'\n"
    )
    assert list_spiders(build_egg(checkout)) == ["catalogue", "extra", "feed", "site", "sitemap"]


def test_a_spider_with_a_syntax_error_is_shown(checkout):
    (checkout / "spiders_project/spiders/extra.py").write_text("class Extra(\n")
    egg = build_egg(checkout)
    with pytest.raises(EggError, match=r"(?s)cannot be listed on this machine.*extra\.py.*SyntaxError"):
        list_spiders(egg)


def test_something_that_is_no_zip_is_no_egg(checkout):
    with pytest.raises(EggError, match="no zip"):
        check_egg(b"not a zip", checkout)
