"""``scrapy frontier`` as people type it, on a real Redis; the crawl that runs meanwhile is in test_live_crawl.py."""

from __future__ import annotations

import json

import pytest

from spiders_project.frontier.contract import Bury
from spiders_project.frontier.dead_letters import letters
from tests.frontier.peer import Peer, crawl_of, put

VERBS = ("status", "hosts", "dead", "retry", "forget", "pause", "resume", "purge", "export", "import")


@pytest.fixture
def crawl(redis_client):
    return crawl_of(redis_client, "plain")


@pytest.fixture
def peer(redis_url, crawl):
    return Peer(redis_url, crawl)


@pytest.fixture
def frontier(project, redis_url):
    def run(*args, **kwargs):
        return project.run("frontier", *args, **{"REDIS_URL": redis_url, **kwargs})

    return run


def bury(peer, *puts, reason="status", error="503 Service Unavailable"):
    peer.exchange(*puts)
    letter = json.dumps({"reason": reason, "error": error, "attempts": 4}).encode()
    peer.exchange(*(Bury(claim.request_id, letter) for claim in peer.claim(len(puts))))


# --- looking ------------------------------------------------------------------------------------


def test_status_of_a_crawl_that_never_ran(frontier):
    done = frontier("status", "plain")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("plain: no run yet\n")


def test_status_shows_run_counts_and_what_blocks(frontier, peer):
    peer.exchange(*(put(f"http://a.example/{number}") for number in range(3)), want=1)
    run = peer.exchange().run
    done = frontier("status", "plain")
    lines = done.stdout.splitlines()
    assert lines[0] == f"plain: run {run} open"
    assert lines[1].startswith("started 20")
    counts = dict(zip(lines[3].split(), lines[4].split(), strict=True))
    assert (counts["queued"], counts["leased"], counts["seen"]) == ("2", "1", "3")
    assert "! work waits and no worker is alive" in lines


def test_status_as_json(frontier, peer):
    run = peer.exchange(put("http://a.example/1")).run
    said = json.loads(frontier("status", "plain", "--json").stdout)
    assert (said["status"]["run_id"], said["status"]["queued"]) == (run, 1)
    assert said["rate"] == 0
    assert said["blockers"][0]["cause"] == "workers"


def test_hosts_the_fullest_first(frontier, peer):
    peer.exchange(put("http://a.example/1"), *(put(f"http://b.example/{number}") for number in range(2)))
    lines = frontier("hosts", "plain").stdout.splitlines()
    assert [line.split() for line in lines[1:]] == [["b.example", "2", "0", "now"], ["a.example", "1", "0", "now"]]
    assert frontier("hosts", "plain", "--top", "1").stdout.splitlines() == lines[:2]


def test_dead_letters_are_listed(frontier, peer):
    bury(peer, put("http://a.example/1"))
    bury(peer, put("http://b.example/2"), reason="callback", error="KeyError: 'x'\nmore")
    done = frontier("dead", "plain")
    assert [line.split()[3:] for line in done.stdout.splitlines()[1:]] == [
        ["callback", "4", "http://b.example/2", "KeyError:", "'x'", "more"],
        ["status", "4", "http://a.example/1", "503", "Service", "Unavailable"],
    ]
    said = json.loads(frontier("dead", "plain", "--status", "503", "--newer", "1h", "--json").stdout)
    assert said["count"] == 1
    assert said["shown"][0]["url"] == "http://a.example/1"
    assert frontier("dead", "plain", "--older", "1h").stdout == "none\n"
    limited = frontier("dead", "plain", "--limit", "1")
    assert limited.stderr == "1 of 2 (--limit N shows more)\n"


def test_an_error_that_no_encoding_has_is_listed_all_the_same(frontier, peer):
    bury(peer, put("http://a.example/1"), error="ValueError: \ud800")
    assert "ValueError: \\ud800" in frontier("dead", "plain").stdout


# --- lending a hand -----------------------------------------------------------------------------


def test_dead_letters_are_retried(frontier, peer, crawl):
    bury(peer, put("http://a.example/1"), put("http://b.example/2"))
    done = frontier("retry", "plain", "--host", "b.example")
    assert (done.returncode, done.stdout) == (0, "1 queued again\n")
    assert [letter.host for letter in letters(crawl)] == ["a.example"]
    assert [claim.host for claim in peer.claim()] == ["b.example"]


@pytest.mark.parametrize(
    ("answer", "options", "code", "left"),
    [(b"plain\n", (), 0, 0), (b"y\n", (), 1, 2), (b"", (), 1, 2), (b"", ("--yes",), 0, 0)],
)
def test_forgetting_asks_back(frontier, peer, crawl, answer, options, code, left):
    bury(peer, put("http://a.example/1"), put("http://b.example/2"))
    done = frontier("forget", "plain", *options, stdin=answer)
    assert done.returncode == code
    assert ("2 dead letters will be dropped" in done.stderr) == (not options)
    assert len(list(letters(crawl))) == left


def test_rejected_seeds_are_listed_put_back_and_forgotten(frontier, crawl, redis_client):
    for entry in ("nonsense", "ftp://a.example/"):
        said = {"entry": entry, "reason": "no", "time": "2026-01-01T00:00:00+00:00"}
        redis_client.rpush(crawl.keys.rejected, json.dumps(said))
    assert "ftp://a.example/" in frontier("dead", "plain", "--seeds").stdout
    done = frontier("retry", "plain", "--seeds", "--limit", "1")
    assert done.stdout == "1 put back into plain:start_urls\n"
    assert redis_client.lrange("plain:start_urls", 0, -1) == [b"nonsense"]
    assert frontier("forget", "plain", "--seeds", "--yes").stdout == "1 dropped\n"
    assert redis_client.llen(crawl.keys.rejected) == 0


@pytest.mark.parametrize("words", [("a.example", "plain"), ("plain", "a.example"), ("http://a.example/page", "plain")])
def test_a_host_is_paused_and_resumed(frontier, peer, words):
    peer.exchange(put("http://a.example/1"))
    done = frontier("pause", *words)
    assert (done.returncode, done.stdout) == (0, "a.example is paused until it is resumed; 1 requests wait\n")
    assert peer.claim() == []
    assert frontier("resume", *words).stdout == "a.example is visited again; 1 requests wait\n"
    assert len(peer.claim()) == 1


def test_a_pause_for_a_time(frontier, peer):
    peer.exchange(put("http://a.example/1"))
    assert "is paused for 1h 30m" in frontier("pause", "a.example", "plain", "--for", "1h30m").stdout
    word, seconds, unit = frontier("hosts", "plain").stdout.splitlines()[1].split()[3:]
    assert (word, unit) == ("in", "s")
    assert 5300 < float(seconds) < 5400


def test_a_crawl_is_purged_when_its_name_is_typed(frontier, peer, redis_client):
    peer.exchange(put("http://a.example/1"))
    redis_client.set("plainer", "of somebody else")
    refused = frontier("purge", "plain", stdin=b"yes\n")
    assert refused.returncode == 1
    assert "0 seeds, 1 requests, 0 dead letters and the memory of 1 URLs seen will be deleted" in refused.stderr
    assert redis_client.exists("plain:requests")
    done = frontier("purge", "plain", stdin=b"plain\n")
    assert done.returncode == 0
    assert redis_client.keys() == [b"plainer"]


def test_an_export_goes_through_a_pipe_or_a_file_into_another_namespace(frontier, project, peer, redis_url):
    peer.exchange(put("http://a.example/1"), put("http://a.example/2", dont_filter=True))
    done = frontier("export", "plain", "out.frontier.gz")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("out.frontier.gz: 2 requests, 0 seeds")
    there = ("plain", "-s", "FRONTIER_NAMESPACE=copy")
    first = frontier("import", *there, "out.frontier.gz", "--json")
    assert json.loads(first.stdout)["new"]["request"] == 2
    again = frontier("import", *there, stdin=(project.directory / "out.frontier.gz").read_bytes())
    assert again.stdout.startswith("new in copy: 0 requests")
    status = json.loads(frontier("status", "copy", "--json").stdout)  # a namespace alone
    assert status["status"]["queued"] == 2


def test_the_fingerprints_of_an_import_are_the_crawls_own(frontier, peer, redis_url, redis_client):
    """A link to an imported page is dropped by the fingerprint that a worker gives it."""
    from scrapy import Request  # noqa: PLC0415
    from scrapy.utils.request import fingerprint  # noqa: PLC0415

    url = "http://a.example/?b=1&a=2"
    peer.exchange(put(url, dont_filter=False))
    frontier("export", "plain", "x")
    frontier("import", "plain", "x", "-s", "FRONTIER_NAMESPACE=copy")
    member = int.from_bytes(fingerprint(Request(url))[:8], "big", signed=True)
    assert redis_client.sismember("copy:seen:0", str(member))


# --- wrong use ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "the following arguments are required: VERB"),
        (("stat", "plain"), "invalid choice: 'stat'"),
        (("status",), "the following arguments are required: SPIDER"),
        (("status", "plian"), "no spider and no crawl is named 'plian'; spiders are otherkey, plain, typo"),
        (("status", "plain", "more"), "what is 'more'?"),
        (("dead", "plain", "--older", "soon"), "'soon' is no length of time: write 90s"),
        (("dead", "plain", "--reason", "bad"), "invalid choice: 'bad'"),
        (("dead", "plain", "--seeds", "--host", "a"), "not for seeds"),
        (("import", "plain", "missing"), "cannot read missing: No such file"),
        (("status", "typo"), "did you mean FRONTIER_LEASE_SECONDS?"),
    ],
)
def test_wrong_use_is_told_in_a_line(frontier, args, message):
    done = frontier(*args)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_examples(frontier, verb):
    done = frontier(verb, "--help")
    assert done.returncode == 0
    assert f"  scrapy frontier {verb} " in done.stdout


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb not in ("pause", "resume", "import")])
def test_a_redis_that_is_away_is_exit_code_4(project, verb):
    done = project.run("frontier", verb, "plain")
    assert done.returncode == 4
    assert "Redis does not answer" in done.stderr
    assert "hunter2" not in done.stderr
    assert "Traceback" not in done.stderr


def test_a_damaged_file_is_exit_code_1(frontier, project):
    (project.directory / "x").write_text("no export")
    done = frontier("import", "plain", "x")
    assert done.returncode == 1
    assert "x is no export of a crawl" in done.stderr


def test_a_spiders_own_seed_key_is_used(frontier, redis_client):
    redis_client.rpush("seeds:otherkey", "http://a.example/")
    assert json.loads(frontier("status", "otherkey", "--json").stdout)["status"]["seeds"] == 1
