"""Options: their types, their bounds, and every refusal with the setting's name."""

from __future__ import annotations

import pytest
from pydantic import ValidationError
from scrapy.settings import Settings

from spiders_project.checks import check, uses_frontier
from spiders_project.config import Options
from spiders_project.errors import ConfigError
from spiders_project.frontier.dupefilter import DupeFilter
from spiders_project.frontier.origins import OriginMiddleware
from spiders_project.frontier.scheduler import Scheduler
from spiders_project.redis_settings import redis_parameters, start_urls_key, start_urls_kind
from spiders_project.settingtypes import DEFAULT_REDIS_URL

FRONTIER = {"SCHEDULER": "spiders_project.frontier.scheduler.Scheduler"}


def refusal(environ=None, **settings) -> str:
    with pytest.raises(ConfigError) as refused:
        check(settings, environ or {})
    return str(refused.value)


def test_what_is_not_set_has_its_default():
    options = Options.from_settings({})
    assert options.frontier_lease_seconds == 15
    assert options.frontier_allowed_schemes == ["http", "https"]
    assert options.mongo_uri == "mongodb://127.0.0.1:27017"
    assert options.node_name


def test_values_are_typed_wherever_they_come_from():
    text = {
        "FRONTIER_LEASE_SECONDS": "7.5",
        "FRONTIER_MAX_DELIVERIES": "3",
        "FRONTIER_ALLOWED_SCHEMES": "http, ftp",
        "ITEM_KEYS": '{"product": ["sku"]}',
    }
    for settings in (text, Settings(text)):
        options = Options.from_settings(settings)
        assert options.frontier_lease_seconds == 7.5
        assert options.frontier_max_deliveries == 3
        assert options.frontier_allowed_schemes == ["http", "ftp"]
        assert options.item_keys == {"product": ["sku"]}


def test_options_do_not_change_while_a_crawl_runs():
    with pytest.raises(ValidationError):
        Options.from_settings({}).frontier_order = "lifo"


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("FRONTIER_LEASE_SECONDS", "3", "FRONTIER_LEASE_SECONDS is '3': it should be greater than 3"),
        ("FRONTIER_LEASE_SECONDS", "soon", "FRONTIER_LEASE_SECONDS is 'soon': it should be a valid number"),
        ("FRONTIER_LEASE_SECONDS", "nan", "FRONTIER_LEASE_SECONDS is 'nan': it should be"),
        ("FRONTIER_HOST_SHARE", 0, "FRONTIER_HOST_SHARE is 0: it should be greater than 0"),
        ("FRONTIER_HOST_SHARE", 1.1, "FRONTIER_HOST_SHARE is 1.1: it should be less than or equal to 1"),
        ("FRONTIER_MAX_DELIVERIES", 0, "it should be greater than or equal to 1"),
        ("FRONTIER_BATCH_SIZE", "1.5", "FRONTIER_BATCH_SIZE is '1.5': it should be a whole number"),
        ("FRONTIER_PREFETCH", -1, "it should be greater than or equal to 0"),
        ("FRONTIER_ORDER", "random", "FRONTIER_ORDER is 'random': it should be 'fifo' or 'lifo'"),
        ("FRONTIER_NAMESPACE", "a:b", "FRONTIER_NAMESPACE is 'a:b': it should be letters, digits"),
        ("FRONTIER_ALLOWED_SCHEMES", "", "FRONTIER_ALLOWED_SCHEMES is '': it should name at least one"),
        ("FRONTIER_RUN_ENDED_HOOK", "no.such.func", "which cannot be imported: No module named 'no'"),
        ("LOG_LEVEL", "FOO", "LOG_LEVEL is 'FOO': it should be"),
        ("DEPTH_PRIORITY", "x", "DEPTH_PRIORITY is 'x': it should be"),
        ("RETRY_PRIORITY_ADJUST", "x", "RETRY_PRIORITY_ADJUST is 'x': it should be"),
        ("CLOSESPIDER_PAGECOUNT", "x", "CLOSESPIDER_PAGECOUNT is 'x': it should be"),
        ("SCHEDULER_PERSIST", "no", "SCHEDULER_PERSIST is 'no': it should be True or False"),
        ("CONTACT", "nobody", "CONTACT is 'nobody': it should be a web address or a mail address"),
        ("ITEM_KEYS", "{", "ITEM_KEYS is '{': it should be a JSON object"),
        ("ITEM_KEYS", "[]", "ITEM_KEYS is '[]': it should be a valid dictionary"),
        ("MONGO_DATABASE", "a/b", "MONGO_DATABASE is 'a/b': it should be a database name"),
        ("MONGO_WRITE_CONCERN", "0", "MONGO_WRITE_CONCERN is '0': it should be a number of members"),
        ("DOWNLOAD_DELAY", -1, "DOWNLOAD_DELAY is -1: it should be greater than or equal to 0"),
        ("CONCURRENT_REQUESTS", -1, "CONCURRENT_REQUESTS is -1: it should be greater than or equal to 0"),
        ("CONCURRENT_REQUESTS", "5.0", "CONCURRENT_REQUESTS is '5.0': it should be a whole number"),
        ("MAX_IDLE_TIME_BEFORE_CLOSE", "-1", "MAX_IDLE_TIME_BEFORE_CLOSE is '-1': it should be greater"),
        ("MAX_IDLE_TIME_BEFORE_CLOSE", "1m", "MAX_IDLE_TIME_BEFORE_CLOSE is '1m': it should be a whole number"),
        ("ROBOTSTXT_OBEY", "yes", "ROBOTSTXT_OBEY is 'yes': it should be True or False"),
        ("REDIS_PORT", "tcp://10.0.0.1:6379", "REDIS_PORT is 'tcp://10.0.0.1:6379': it should be a whole number"),
        ("ITEM_KEYS", '{"Page": 3}', "it should name a field, or a list of fields, for 'Page'"),
        ("RETRY_HTTP_CODES", "500,abc", "RETRY_HTTP_CODES is '500,abc': it should be a whole number"),
        ("REDIS_START_URLS_KEY", "%(spider)s:x", "REDIS_START_URLS_KEY is '%(spider)s:x': it should be a key in"),
        ("REDIS_START_URLS_KEY", "%", "REDIS_START_URLS_KEY is '%': it should be a key in"),
        ("REDIS_SENTINELS", "10.0.0.5", "REDIS_SENTINELS has '10.0.0.5': it should be host:port"),
        ("REDIS_URL", "redis://h:port/0", "REDIS_URL is redis://h:port/0: its port should be a number"),
        ("REDIS_URL", "redis://h/main", "REDIS_URL is redis://h/main: its database should be a number"),
        ("REDIS_URL", "127.0.0.1:6379", "REDIS_URL is 127.0.0.1:6379: it should be a URL such as redis://"),
    ],
)  # fmt: skip
def test_a_malformed_value_is_refused_by_name(name, value, expected):
    assert expected in refusal(**{name: value})


@pytest.mark.parametrize("name", ["REDIS_URL", "MONGO_URI"])
def test_a_refusal_shows_no_password(name):
    text = refusal(**{name: "http://me:hunter2@host/"})
    assert text.startswith(f"{name} is http://me:***@host/: ")
    assert "hunter2" not in text
    assert "hunter2" not in refusal(REDIS_PARAMS='{"password": "hunter2"')


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("FRONTIER_LEASE_SECOND", "did you mean FRONTIER_LEASE_SECONDS?"),
        ("MONGO_DATABSE", "did you mean MONGO_DATABASE?"),
        ("RETRY_BACKOFF_MAX", "did you mean RETRY_BACKOFF_MAX_SECONDS?"),
        ("SEEDS_ANYTHING", "docs/settings.md lists the names"),
    ],
)
def test_an_unknown_name_of_ours_is_refused(name, hint):
    assert refusal(**{name: 1}) == f"{name} is no setting; {hint}"
    assert refusal({name: "1"}) == f"{name} is no setting; {hint}"


@pytest.mark.parametrize("name", ["MONGO_INITDB_ROOT_USERNAME", "MONGO_PORT_27017_TCP", "NODE_ENV", "PATH"])
def test_variables_of_other_programs_are_none_of_our_business(name):
    check({}, {name: "x"})


@pytest.mark.parametrize(
    ("name", "value", "instead"),
    [
        ("SCHEDULER_PERSIST", False, "scrapy frontier purge"),
        ("SCHEDULER_PERSIST", "0", "scrapy frontier purge"),
        ("SCHEDULER_FLUSH_ON_START", True, "scrapy frontier purge"),
        ("SCHEDULER_FLUSH_ON_START", "true", "scrapy frontier purge"),
        ("DOWNLOADER", "scrapy.core.downloader.Downloader", "subclass spiders_project.downloader"),
        ("ITEM_PROCESSOR", "scrapy.pipelines.ItemPipelineManager", "subclass spiders_project.items"),
        ("SCHEDULER_SERIALIZER", "pickle", "nothing is unpickled"),
        ("SCHEDULER_QUEUE_CLASS", "scrapy_redis.queue.LifoQueue", "set FRONTIER_ORDER"),
        ("SCHEDULER_QUEUE_KEY", "%(spider)s:x", "set FRONTIER_NAMESPACE"),
        ("SCHEDULER_DUPEFILTER_KEY", "%(spider)s:x", "set FRONTIER_NAMESPACE"),
        ("SCHEDULER_IDLE_BEFORE_CLOSE", 10, "set MAX_IDLE_TIME_BEFORE_CLOSE"),
        ("SCHEDULER_IDLE_BEFORE_CLOSE", "-1", "set MAX_IDLE_TIME_BEFORE_CLOSE"),
        ("DUPEFILTER_CLASS", "scrapy_redis.dupefilter.RFPDupeFilter", "leave it out"),
        ("STATS_CLASS", "scrapy_redis.stats.RedisStatsCollector", "leave it out"),
        ("TWISTED_REACTOR", "twisted.internet.selectreactor.SelectReactor", "AsyncioSelectorReactor"),
        ("JOBDIR", "jobs/1", "leave it out"),
        ("SCHEDULER_DISK_QUEUE", "scrapy.squeues.PickleFifoDiskQueue", "set FRONTIER_ORDER"),
        ("SCHEDULER_MEMORY_QUEUE", "scrapy.squeues.FifoMemoryQueue", "set FRONTIER_ORDER"),
        ("SCHEDULER_PRIORITY_QUEUE", "scrapy.pqueues.ScrapyPriorityQueue", "set FRONTIER_ORDER"),
        ("SCHEDULER_START_DISK_QUEUE", "a.B", "set FRONTIER_ORDER"),
        ("SCHEDULER_START_MEMORY_QUEUE", "a.B", "set FRONTIER_ORDER"),
        ("SCHEDULER_DUPEFILTER_CLASS", "scrapy_redis.dupefilter.RFPDupeFilter", "DUPEFILTER_CLASS"),
        ("CONCURRENT_REQUESTS_PER_IP", "2", "set CONCURRENT_REQUESTS_PER_DOMAIN"),
        ("DUPEFILTER_CLASS", "collections.OrderedDict", "subclass spiders_project.frontier.dupefilter.DupeFilter"),
    ],
)
def test_what_cannot_work_on_the_frontier_is_refused_with_what_does(name, value, instead):
    text = refusal(**FRONTIER, **{name: value})
    assert text.startswith(f"{name}={value!r} is refused: ")
    assert instead in text
    check({name: value}, {})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SCHEDULER_PERSIST", True),
        ("SCHEDULER_PERSIST", "True"),
        ("SCHEDULER_FLUSH_ON_START", False),
        ("SCHEDULER_QUEUE_CLASS", "scrapy_redis.queue.PriorityQueue"),
        ("SCHEDULER_IDLE_BEFORE_CLOSE", "0"),
        ("MAX_IDLE_TIME_BEFORE_CLOSE", "0"),
        ("MAX_IDLE_TIME_BEFORE_CLOSE", 60),
        ("JOBDIR", None),
    ],
)
def test_what_means_the_same_on_the_frontier_is_accepted(name, value):
    check(FRONTIER | {name: value}, {})


class OwnScheduler(Scheduler):
    """As a user writes one."""


class OwnDupeFilter(DupeFilter):
    """As a user writes one."""


class OwnOrigins(OriginMiddleware):
    """As a user writes one."""


@pytest.mark.parametrize("scheduler", [Scheduler, OwnScheduler, f"{__name__}.OwnScheduler", FRONTIER["SCHEDULER"]])
def test_a_scheduler_of_ours_is_known_by_its_class(scheduler):
    assert uses_frontier({"SCHEDULER": scheduler})
    assert "is refused" in refusal(SCHEDULER=scheduler, JOBDIR="jobs/1")


@pytest.mark.parametrize("scheduler", [None, "scrapy.core.scheduler.Scheduler", "collections.OrderedDict"])
def test_other_schedulers_are_not_ours(scheduler):
    assert not uses_frontier({"SCHEDULER": scheduler})


@pytest.mark.parametrize("name", ["SCHEDULER", "DUPEFILTER_CLASS", "DOWNLOADER", "ITEM_PROCESSOR"])
@pytest.mark.parametrize(
    ("path", "why"), [("nope.Foo", "No module named 'nope'"), ("json.Foo", "has no attribute 'Foo'"), ("Foo", "Empty")]
)
def test_a_class_that_cannot_be_imported_is_refused_by_name(name, path, why):
    text = refusal(**{**FRONTIER, name: path})
    assert text.startswith(f"{name} is {path!r}, which cannot be imported: ")
    assert why in text


def test_subclasses_of_ours_are_taken():
    check(
        FRONTIER
        | {
            "DUPEFILTER_CLASS": f"{__name__}.OwnDupeFilter",
            "SPIDER_MIDDLEWARES": {OwnOrigins: 50, "nope.Disabled": None},
        },
        {},
    )


@pytest.mark.parametrize(
    ("name", "ours", "order"),
    [
        ("SPIDER_MIDDLEWARES", "spiders_project.frontier.origins.OriginMiddleware", 50),
        ("DOWNLOADER_MIDDLEWARES", "spiders_project.downloader.outcome.OutcomeMiddleware", 1),
    ],
)
def test_a_crawl_without_a_component_that_keeps_a_promise_is_refused(name, ours, order):
    for components in ({}, {ours: None}, {"collections.OrderedDict": 543}):
        text = refusal(**FRONTIER, **{name: components})
        assert text.startswith(f"{name} lacks {ours}: ")
        assert text.endswith(f"add {{'{ours}': {order}}} to it")
        check({name: components}, {})
    check(FRONTIER | {name: {ours: order, "not.Looked.At": 5}}, {})


def test_defaults_of_scrapys_that_nobody_chose_are_not_refused():
    settings = Settings(FRONTIER)
    settings.set("TWISTED_REACTOR", None)
    check(settings, {})


def test_a_host_without_limit_is_for_the_frontier_only():
    """Scrapy's own downloader would start nothing at all."""
    check(FRONTIER | {"CONCURRENT_REQUESTS_PER_DOMAIN": 0}, {})
    assert "Scrapy's own downloader starts nothing with 0" in refusal(CONCURRENT_REQUESTS_PER_DOMAIN="0")


@pytest.mark.parametrize(
    "name", ["a:b", "a b", "a*", "a?", "[a]", "{}", "a{b", "{a}{b}", "{a}:b", "a\nb", "", "\u00e9"]
)
def test_a_name_that_could_be_taken_for_other_keys_is_refused(name):
    with pytest.raises(
        ConfigError, match=r"cannot be the namespace of a crawl: .* Rename the spider, or set FRONTIER_NAMESPACE"
    ):
        check(FRONTIER, {}, name)
    check(FRONTIER | {"FRONTIER_NAMESPACE": "{a}.b-1_c"}, {}, name)
    check({}, {}, name)
    if name:
        assert "FRONTIER_NAMESPACE is " in refusal(FRONTIER_NAMESPACE=name)


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({}, "site:start_urls"),
        ({"REDIS_START_URLS_KEY": "seeds:%(name)s"}, "seeds:site"),
        ({"REDIS_START_URLS_KEY": "seeds"}, "seeds"),
    ],
)
def test_the_key_of_the_seeds(settings, key):
    assert start_urls_key(settings, "site") == key


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ({}, "list"),
        ({"REDIS_START_URLS_AS_SET": "1"}, "set"),
        ({"REDIS_START_URLS_AS_ZSET": True}, "zset"),
        ({"REDIS_START_URLS_AS_SET": "False", "REDIS_START_URLS_AS_ZSET": "True"}, "zset"),
    ],
)
def test_the_kind_of_that_key(settings, kind):
    assert start_urls_kind(settings) == kind


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, {"url": DEFAULT_REDIS_URL}),
        ({"REDIS_URL": "redis://a/1"}, {"url": "redis://a/1"}),
        ({"REDIS_URL": None, "REDIS_HOST": "b"}, {"host": "b"}),
        ({"REDIS_URL": DEFAULT_REDIS_URL, "REDIS_HOST": "b", "REDIS_PORT": "1"}, {"host": "b", "port": 1}),
        ({"REDIS_URL": DEFAULT_REDIS_URL, "REDIS_DB": "5"}, {"db": 5}),
        ({"REDIS_URL": "redis://a/1", "REDIS_HOST": "b"}, {"url": "redis://a/1", "host": "b"}),
        ({"REDIS_PARAMS": '{"password": "x"}'}, {"password": "x", "url": DEFAULT_REDIS_URL}),
        ({"REDIS_PARAMS": {"socket_timeout": 3}, "REDIS_ENCODING": "latin-1"},
         {"socket_timeout": 3, "encoding": "latin-1", "url": DEFAULT_REDIS_URL}),
    ],
)  # fmt: skip
def test_only_the_redis_url_that_nobody_chose_gives_way(settings, expected):
    """A URL goes before a host, as in scrapy-redis: redis-py lets the parts of a URL override the rest."""
    assert redis_parameters(settings) == expected
