"""``scrapy seed`` on a real Redis."""

from __future__ import annotations

import json
import re

import pytest

FILE = b'http://a.com/\r\n\n# comment\nhttp://b.com/\n{"url": "http://c.com/", "priority": "3"}\n'


def test_urls_are_pushed_in_their_order(project, redis_url, redis_client):
    done = project.run("seed", "plain", "http://a.com/", "http://b.com/", REDIS_URL=redis_url)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "2 seeds pushed to plain:start_urls\n"
    assert redis_client.lrange("plain:start_urls", 0, -1) == [b"http://a.com/", b"http://b.com/"]


def test_a_file_and_standard_input_have_one_seed_a_line(project, redis_url, redis_client):
    (project.directory / "seeds.txt").write_bytes(FILE)
    expected = [b"http://a.com/", b"http://b.com/", b'{"url": "http://c.com/", "priority": "3"}']
    assert project.run("seed", "plain", "--file", "seeds.txt", REDIS_URL=redis_url).returncode == 0
    assert redis_client.lrange("plain:start_urls", 0, -1) == expected
    redis_client.flushall()
    assert project.run("seed", "plain", "-", stdin=FILE, REDIS_URL=redis_url).returncode == 0
    assert redis_client.lrange("plain:start_urls", 0, -1) == expected


def test_what_is_refused_is_named_and_the_rest_is_pushed(project, redis_url, redis_client):
    done = project.run("seed", "plain", "-", stdin=b"http://a.com/\nb.com\n", REDIS_URL=redis_url)
    assert done.returncode == 1
    assert done.stdout == "1 seeds pushed to plain:start_urls, 1 refused\n"
    assert done.stderr == "refused, entry 2: no scheme in b.com; write https://b.com: b.com\n"
    assert redis_client.llen("plain:start_urls") == 1


def test_the_report_as_json(project, redis_url, redis_client):
    done = project.run("seed", "plain", "--json", "-", stdin=b"http://a.com/\nb.com\n", REDIS_URL=redis_url)
    assert done.returncode == 1
    assert json.loads(done.stdout) == {
        "key": "plain:start_urls",
        "pushed": 1,
        "refused": [{"entry": "b.com", "reason": "no scheme in b.com; write https://b.com", "line": 2}],
        "refused_count": 1,
    }


def test_progress_goes_to_stderr(project, redis_url, redis_client):
    many = b"".join(b"http://a.com/%d\n" % n for n in range(12_000))
    done = project.run("seed", "plain", "-", stdin=many, REDIS_URL=redis_url)
    assert done.stderr == "10,000 seeds pushed\n"
    assert redis_client.llen("plain:start_urls") == 12_000


def test_the_spiders_own_key_and_settings_count(project, redis_url, redis_client):
    done = project.run("seed", "otherkey", "ftp://a.com/", "http://a.com/", REDIS_URL=redis_url)
    assert done.returncode == 1
    assert "scheme 'http' is not allowed; allowed are ftp" in done.stderr
    assert redis_client.lrange("seeds:otherkey", 0, -1) == [b"ftp://a.com/"]


def test_the_namespace_and_the_kind_of_key_count(project, redis_url, redis_client):
    flags = ["-s", "FRONTIER_NAMESPACE={two}", "-s", "REDIS_START_URLS_AS_ZSET=True"]
    project.run("seed", "plain", '{"url": "http://a.com/", "priority": 4}', *flags, REDIS_URL=redis_url)
    assert redis_client.zscore("{two}:start_urls", b'{"url": "http://a.com/", "priority": 4}') == 4


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["nope", "http://a.com/"], "no spider 'nope'; there are otherkey, plain, typo"),
        (["plain"], "no seeds: give URLs, --file FILE or -"),
        ([], "name a spider; there are otherkey, plain, typo"),
        (["plain", "--jsn", "http://a.com/"], "no such option: --jsn"),
        (["plain", "--file", "nope.txt"], "cannot read nope.txt: No such file or directory"),
    ],
)
def test_wrong_use_is_explained(project, args, expected):
    done = project.run("seed", *args)
    assert done.returncode == 2
    assert done.stderr.strip().endswith(f"error: {expected}")


def test_redis_away_is_exit_code_4_and_shows_no_password(project):
    done = project.run("seed", "plain", "http://a.com/")
    assert done.returncode == 4
    assert "Redis does not answer" in done.stderr
    assert "hunter2" not in done.stderr


def test_a_wrong_password_is_said(project, redis_url):
    wrong = re.sub(r":[^:@/]+@", ":wrong@", redis_url)
    done = project.run("seed", "plain", "http://a.com/", REDIS_URL=wrong)
    assert done.returncode == 1
    assert "password" in done.stderr
    assert wrong not in done.stderr


def test_a_key_of_another_type_is_said(project, redis_url, redis_client):
    redis_client.set("plain:start_urls", "x")
    done = project.run("seed", "plain", "http://a.com/", REDIS_URL=redis_url)
    assert done.returncode == 1
    assert "wrong type" in done.stderr
