"""Our defaults with MongoDB, but for the delay between two requests to a host."""

from spiders_project.settings import *  # noqa: F403 - a settings module is nothing but names
from spiders_project.settings import EXTENSIONS as _EXTENSIONS

SPIDER_MODULES = ["benchmarks.peers.spiders"]
EXTENSIONS = {**_EXTENSIONS, "benchmarks.peers.witness.Witness": 0}
ITEM_KEYS = {"dict": ["url"]}
DOWNLOAD_DELAY = 0.0
DOWNLOAD_DELAY_JITTER = 0.0
MAX_IDLE_TIME_BEFORE_CLOSE = 1
