"""The wiring, in the order of a request's life; docs/settings.md has a row for each name.

A setting that stands here can also be given by an environment variable of the same name (last lines), by a
spider's ``custom_settings``, and on the command line (``-s NAME=VALUE``), each going before the former.
This project's own options have their defaults in config.py.
"""

import os

from spiders_project.egg import refuse_unmet_requirements

refuse_unmet_requirements()  # before the imports that a missing package would break

from spiders_project import __version__, config, settingtypes  # noqa: E402 - see above
from spiders_project.environment import from_environment  # noqa: E402 - see above

# --- Where things are ---------------------------------------------------------------------------------------

BOT_NAME = "spiders_project"
SPIDER_MODULES = ["spiders_project.spiders"]
NEWSPIDER_MODULE = "spiders_project.spiders"
COMMANDS_MODULE = "spiders_project.commands"
ADDONS = {"spiders_project.addon.ProjectAddon": 0}  # checks all settings below before a crawl

# --- 1, 2: seeds and the frontier ---------------------------------------------------------------------------

SCHEDULER = "spiders_project.frontier.scheduler.Scheduler"
DUPEFILTER_CLASS = "spiders_project.frontier.dupefilter.DupeFilter"
SCHEDULER_PERSIST = True  # a worker that closes deletes nothing; False is refused
REDIS_URL = settingtypes.DEFAULT_REDIS_URL  # gives way to REDIS_HOST, REDIS_PORT, REDIS_DB
REDIS_HOST = None
REDIS_PORT = None
REDIS_DB = None
REDIS_ENCODING = None
REDIS_PARAMS: dict[str, object] = {}
REDIS_SENTINELS: list[str] = []  # host:port of each; they say where the master is
REDIS_SENTINEL_SERVICE = "mymaster"  # its name there
REDIS_SENTINEL_PARAMS: dict[str, object] = {}  # how to talk to the sentinels themselves
REDIS_START_URLS_KEY = "%(name)s:start_urls"
REDIS_START_URLS_AS_SET = False
REDIS_START_URLS_AS_ZSET = False
MAX_IDLE_TIME_BEFORE_CLOSE = 0  # s since the crawl's last activity; 0: workers wait for seeds for ever
DEPTH_LIMIT = 50  # far deeper than sites link, and an end to calendars that go on for ever
URLLENGTH_LIMIT = 2083  # Scrapy's; longer URLs are nearly always a loop that appends to itself

# --- 3: the downloader: polite, and bounded -----------------------------------------------------------------

USER_AGENT = f"spiders_project/{__version__}"  # " (+CONTACT)" is added when CONTACT is set
ROBOTSTXT_OBEY = True
DOWNLOAD_DELAY = 1.0  # s between two requests to one host, for the whole cluster; jittered by half (Scrapy's)
CONCURRENT_REQUESTS_PER_DOMAIN = 4  # a host that takes 4 s to answer still gets its one request a second
CONCURRENT_REQUESTS = 32  # a worker's slots: at one request a second and host, some dozens of hosts at a time
DOWNLOAD_TIMEOUT = 60.0  # s; Scrapy's 180 lets three hanging requests hold a slot for nine minutes
DOWNLOAD_MAXSIZE = 10 * 1024 * 1024  # bytes; pages are smaller, and 32 slots of this fit into a small machine
DOWNLOAD_WARNSIZE = 5 * 1024 * 1024  # bytes
REDIRECT_MAX_TIMES = 10  # Scrapy's 20 is a browser's; a chain of more than 10 is a loop
RETRY_TIMES = 3  # beside the first attempt; with the back-off below that is over about ten seconds
RETRY_HTTP_CODES = [500, 502, 503, 504, 522, 524, 408, 429]  # Scrapy's

DOWNLOADER = "spiders_project.downloader.gated.GatedDownloader"  # host limits hold for the whole cluster
DOWNLOADER_MIDDLEWARES = {
    # Nearest to the engine: sees what none of the others could mend.
    "spiders_project.downloader.outcome.OutcomeMiddleware": 1,
    "spiders_project.downloader.crawl_delay.CrawlDelayMiddleware": 110,  # behind Scrapy's robots.txt at 100
}

# --- 4: the spider ------------------------------------------------------------------------------------------

SPIDER_MIDDLEWARES = {
    # Remembers which request an item comes from. Farther from the spider than all that may drop an item, so
    # that an item's ordinal is its place among those that are kept.
    "spiders_project.frontier.origins.OriginMiddleware": 50,
}

# --- 5, 6: items and their storage --------------------------------------------------------------------------

# Holds a request's ack until its items are stored.
ITEM_PROCESSOR = "spiders_project.items.processor.DeliveringItemProcessor"
ITEM_PIPELINES = {
    "spiders_project.pipelines.validate.ValidatePipeline": 100,  # refuse first, to work on nothing wrong
    "spiders_project.pipelines.normalise.NormalisePipeline": 200,  # then one spelling for each value
    "spiders_project.pipelines.mongo.MongoPipeline": 300,  # then the batch; done when MongoDB has it
}
# Scrapy starts this many tasks for each response; its 100 cost a fifth of the pages a second.
CONCURRENT_ITEMS = 8

# --- What a worker does beside crawling ---------------------------------------------------------------------

EXTENSIONS = {
    "spiders_project.downloader.backoff.Backoff": 0,  # pauses hosts that say 429, 503 or Retry-After
    "spiders_project.extensions.watchdog.Watchdog": 0,  # says why a crawl with work makes no progress
    "spiders_project.extensions.run_ended.RunEnded": 0,  # tells whoever wants to know that a run has ended
    "spiders_project.extensions.job_record.JobRecord": 0,  # says of a job how it stands, and how it ended
}

# --- The process --------------------------------------------------------------------------------------------

# The clients of Redis and MongoDB are asyncio's.
TWISTED_REACTOR = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
TELNETCONSOLE_ENABLED = False  # a Python prompt on a port
REMOTE_CONTROL_ENABLED = False  # runs Python that comes by HTTP
LOG_LEVEL = "INFO"  # DEBUG has a line or more for each request
LOG_FORMATTER = "spiders_project.logformatter.LogFormatter"  # makes no lines that LOG_LEVEL hides
FEED_EXPORT_ENCODING = "utf-8"

# --- This project's options, and the environment ------------------------------------------------------------

globals().update(config.Options.defaults())
_values, ENVIRONMENT_PROBLEMS = from_environment(globals(), os.environ)  # the add-on refuses what is malformed
globals().update(_values)
