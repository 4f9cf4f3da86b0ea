"""fleet.toml: what it may say, and that whatever is wrong is named with its line and key."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import pytest

from deploy.errors import UsageError
from deploy.fleet import After, FleetFile, load_fleet, read_fleet
from deploy.toml_lines import line_of

WHOLE = """\
[nodes.berlin]
labels = ["eu", "browser"]
capacity = 8
weight = 2
[nodes.oslo]
labels = ["eu"]
drain = true

[crawls.shop]
spider = "site"
arguments = { max_pages = 500, follow = true }
settings = { LOG_LEVEL = "INFO", DOWNLOAD_DELAY = 0.5 }
workers = 4
placement = "least-loaded"
labels = ["eu"]
max_per_node = 2
priority = 5
overlap = "replace"
timeout = "2h"
retries = 2
seeds = "seeds/shop.txt"

[crawls.feed]
after = "shop"

[crawls.report]
after = { crawl = "feed", state = "any" }

[timers.nightly]
cron = "0 3 * * *"
timezone = "Europe/Berlin"
jitter = "5m"
crawl = "shop"

[timers.login]
interval = 1800
misfire = "skip"
spider = "login"
arguments = { user = "me" }

[timers.once]
date = 2030-01-02T03:04:05Z
max_instances = 2
crawl = "shop"
"""


def fleet(text: str, **options):
    return FleetFile(Path("fleet.toml"), text).fleet(**options)


def test_the_whole_of_it():
    read = fleet(WHOLE, nodes=["berlin", "oslo", "paris"])
    shop = read.crawls["shop"]
    assert shop.arguments == {"max_pages": "500", "follow": "True"}
    assert shop.settings == {"LOG_LEVEL": "INFO", "DOWNLOAD_DELAY": "0.5"}
    assert (shop.workers, shop.placement, shop.timeout, shop.namespace) == (4, "least-loaded", 7200, "site")
    assert read.crawls["feed"].spider == "feed"
    assert read.crawls["feed"].after == After(crawl="shop", state="done")
    assert read.crawls["report"].after == After(crawl="feed", state="any")
    assert read.nodes["berlin"].labels == {"eu", "browser"}
    assert read.node("paris").capacity == 4
    assert read.timers["nightly"].jitter == 300
    assert read.timers["once"].date == datetime(2030, 1, 2, 3, 4, 5, tzinfo=timezone.utc)


def test_no_file_is_an_empty_fleet(tmp_path):
    assert load_fleet(tmp_path).crawls == {}


def test_an_unreadable_file_is_wrong_use(tmp_path):
    (tmp_path / "fleet.toml").write_bytes(b"\xff")
    with pytest.raises(UsageError, match=r"fleet.toml cannot be read"):
        read_fleet(tmp_path / "fleet.toml")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[crawls.a]\nworkers == 3\n", r"fleet.toml is no TOML: .*line 2"),
        ("[crawls.a]\n\nworkrs = 3\n", r"fleet.toml, line 3: crawls.a.workrs: no such key"),
        ("[crawl.a]\nworkers = 3\n", r"line 1: crawl: no such key"),
        ("[crawls.a]\nworkers = -1\n", r"line 2: crawls.a.workers: .*greater than or equal to 0 \(it is -1\)"),
        ('[crawls.a]\nworkers = "3"\n', r"line 2: crawls.a.workers: .*integer"),
        ('[crawls.a]\nplacement = "best"\n', r"line 2: crawls.a.placement: .*'spread'.*'random'"),
        ('[crawls.a]\nsettings = { X = ["y"] }\n', r"line 2: crawls.a.settings.X: .*string"),
        ("[crawls.a.arguments]\njobid = 3\n", r"line 2: crawls.a.arguments.jobid: Scrapyd takes this name"),
        ('[crawls.a]\ntimeout = "soon"\n', r"line 2: crawls.a.timeout: write seconds .*it is 'soon'"),
        ('[crawls."a b"]\nworkers = 1\n', r"line 1: crawls.a b.*a name has only letters"),
        ('[crawls.a]\nlabels = ["us"]\n[nodes.n]\nlabels=["eu"]\n', r"line 2: crawls.a.labels: .*'us': there are eu"),
        ('[crawls.a]\nafter = "b"\n', r"line 2: crawls.a.after: there is no crawl 'b': there are a"),
        ('[crawls.a]\nafter = "a"\n', r"line 2: crawls.a.after: a cycle: a after a"),
        (
            '[crawls.x]\nafter="a"\n[crawls.a]\nafter = "b"\n[crawls.b]\nafter = "a"\n',
            r"line 4: crawls.a.after: a cycle: a after b after a",
        ),
        ('[crawls.a]\nspider="s"\n[crawls.b]\nspider="s"\n', r"line 3: crawls.b: .*share the frontier 's' with 'a'"),
        (
            '[crawls.a.settings]\nFRONTIER_NAMESPACE = "a:b"\n',
            r"line 2: crawls.a.settings.FRONTIER_NAMESPACE: 'a:b' is no",
        ),
        (
            "[nodes.nowhere]\ncapacity = 1\n",
            r"line 1: nodes.nowhere: scrapy.cfg has no \[deploy:nowhere\]: it has n, n1",
        ),
        ('[timers.t]\ncron = "0 3 * *"\nspider = "s"\n', r"line 2: timers.t.cron: five fields"),
        ('[timers.t]\nspider = "s"\n', r"line 1: timers.t: name exactly one of cron, interval and date"),
        ("[timers.t]\ninterval = 5\n", r"line 1: timers.t: name exactly one of crawl and spider"),
        ('[timers.t]\ninterval = 5\ncrawl = "c"\n', r"line 3: timers.t.crawl: there is no crawl 'c'"),
        (
            '[timers.t]\ninterval = 5\nspider = "s"\ntimezone = "Mars"\n',
            r"line 4: timers.t.timezone: no such time zone",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_line_and_key(text, complaint):
    with pytest.raises(UsageError, match=complaint):
        fleet(text, nodes=["n1", "n"])


def test_everything_that_is_wrong_is_said_at_once():
    with pytest.raises(UsageError) as caught:
        fleet("[crawls.a]\nworkers = -1\n[crawls.b]\nretries = -1\n")
    assert len(str(caught.value).splitlines()) == 2


def test_a_line_is_found_through_dotted_and_quoted_keys():
    text = '[a."b.c"]\nd.e = 1\nlist = [\n  "x = 1",\n]\n[[f]]\ng = 1\n'
    assert line_of(text, ["a", "b.c", "d", "e"]) == 2
    assert line_of(text, ["a", "b.c", "list", 0]) == 3
    assert line_of(text, ["f", "g"]) == 7
    assert line_of(text, ["nothing"]) is None
