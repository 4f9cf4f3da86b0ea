"""The command line: help with examples for every verb, and wrong use told from failure."""

from __future__ import annotations

import re

import pytest

from deploy.cli import cli, main
from tests.deploy.conftest import ROOT


def call(capsys, *args: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(args))
    out, err = capsys.readouterr()
    return ended.value.code, out, err


@pytest.mark.parametrize("verb", sorted(cli.commands))
def test_every_verb_explains_itself_with_an_example(capsys, verb):
    code, out, _ = call(capsys, verb, "--help")
    assert code == 0
    assert "Example" in out
    assert f"\n    python -m deploy {verb}" in out, "examples keep their lines"
    assert "\\b" not in out


@pytest.mark.parametrize(
    "args",
    [
        ["nonsense"],
        ["cancel"],
        ["cancel", "--all", "--spider", "x"],
        ["seed", "site"],
        ["seed", "site", "http://a/", "--file", "/dev/null"],
        ["push", "--version", "1.0"],
        ["schedule", "site", "-a", "novalue", "--version", "v"],
        ["schedule", "site", "-a", "jobid=1", "--version", "v"],
        ["schedule", "site", "--workers", "0"],
        ["jobs", "--state", "odd"],
        ["targets", "-t", "nowhere"],
        ["crawl", "--pages", "0"],
    ],
)
def test_wrong_use_is_2(capsys, monkeypatch, tmp_path, args):
    (tmp_path / "scrapy.cfg").write_text("[deploy:a]\nurl = http://127.0.0.1:9/\n")
    monkeypatch.chdir(tmp_path)
    code, out, err = call(capsys, *args)
    assert code == 2, err
    assert out == ""
    assert "Traceback" not in err


def test_outside_a_project_is_wrong_use(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    code, _, err = call(capsys, "targets")
    assert code == 2
    assert "no scrapy.cfg" in err


def test_the_documentation_names_every_verb_and_no_other():
    text = (ROOT / "docs/cli.md").read_text()
    table = text[text.index("| verb |") : text.index("Every verb has")]
    assert set(re.findall(r"`(\w+)`", table.replace("`make crawl`", ""))) == set(cli.commands)
