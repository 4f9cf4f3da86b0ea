"""scrapy.cfg is read as scrapyd-deploy reads it, and what is wrong there is said before anything is sent."""

from __future__ import annotations

import pytest
from scrapyd_client.utils import _get_targets

from deploy.errors import UsageError
from deploy.targets import Node, read_targets


@pytest.fixture
def scrapy_cfg(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    def write(text: str):
        (tmp_path / "scrapy.cfg").write_text(text)

    return write


def test_defaults_of_deploy_reach_every_target_as_in_scrapyd_deploy(scrapy_cfg, monkeypatch):
    monkeypatch.setenv("FARM_PASSWORD", "s3cret")
    scrapy_cfg(
        "[settings]\ndefault = x\n"
        "[deploy]\nusername = me\npassword = $FARM_PASSWORD\nproject = shop\n"
        "[deploy:a]\nurl = http://a:6800\n"
        "[deploy:b]\nurl = https://b/scrapyd/\nusername = you\npassword = ${FARM_PASSWORD}2\n"
    )
    assert read_targets() == [
        Node("a", "http://a:6800/", "shop", "me", "s3cret"),
        Node("b", "https://b/scrapyd/", "shop", "you", "s3cret2"),
    ]
    theirs = _get_targets()
    assert [(n.name, n.username, n.password, n.project) for n in read_targets()] == [
        (name, t["username"], t["password"], t["project"]) for name, t in theirs.items()
    ]


def test_a_deploy_section_with_a_url_is_the_target_default(scrapy_cfg):
    scrapy_cfg("[deploy]\nurl = http://a:6800/\n")
    assert read_targets() == [Node("default", "http://a:6800/", "spiders_project")]


def test_targets_are_chosen_by_name_and_the_others_need_not_be_usable(scrapy_cfg, monkeypatch):
    monkeypatch.delenv("UNSET_URL", raising=False)
    scrapy_cfg("[deploy:a]\nurl = http://a:6800/\n[deploy:b]\nurl = $UNSET_URL\n")
    assert [node.name for node in read_targets(["a"])] == ["a"]
    with pytest.raises(UsageError, match="UNSET_URL is not set"):
        read_targets()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[settings]\ndefault = x\n", r"no \[deploy:NAME\] section"),
        ("[deploy:a]\nproject = x\n", "target 'a' in scrapy.cfg has no url"),
        ("[deploy:a]\nurl = example.org:6800\n", "must look like http"),
        ("[deploy:a]\nurl = http://me:hunter2@a:6800/\n", "options of their own"),
        ("[deploy:a]\nurl = http://a/\npassword = $NOT_SET_ANYWHERE\n", "NOT_SET_ANYWHERE is not set"),
        ("[deploy:a]\nurl = http://a/\n[deploy:a]\nurl = http://b/\n", "cannot be read"),
        ("[deploy:a]\nurl = http://a/%(nowhere)s\n", "url: a % is written %%"),
        ("[deploy:a]\nurl = http://a/\npassword = %hunter2\n", "password: a % is written %%"),
    ],
)
def test_a_target_that_cannot_be_used_is_wrong_use(scrapy_cfg, text, complaint):
    scrapy_cfg(text)
    with pytest.raises(UsageError, match=complaint) as caught:
        read_targets()
    assert "hunter2" not in str(caught.value)


def test_a_password_may_hold_a_dollar_sign(scrapy_cfg):
    scrapy_cfg("[deploy:a]\nurl = http://a/\nusername = me\npassword = pa$word\n")
    assert read_targets()[0].password == "pa$word"


def test_an_unknown_name_is_answered_with_the_known_ones(scrapy_cfg):
    scrapy_cfg("[deploy:a]\nurl = http://a/\n[deploy:b]\nurl = http://b/\n")
    with pytest.raises(UsageError, match="no target 'c': it has a, b"):
        read_targets(["c"])
