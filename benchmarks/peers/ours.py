"""Our defaults, but for the delay between two requests to a host, which nothing could be measured with.

Items go to a feed, as on the other side, and not to MongoDB: what that costs is measured by itself.
"""

from spiders_project.settings import *  # noqa: F403 - a settings module is nothing but names
from spiders_project.settings import EXTENSIONS as _EXTENSIONS
from spiders_project.settings import ITEM_PIPELINES as _ITEM_PIPELINES

SPIDER_MODULES = ["benchmarks.peers.spiders"]
EXTENSIONS = {**_EXTENSIONS, "benchmarks.peers.witness.Witness": 0}
ITEM_PIPELINES = {path: order for path, order in _ITEM_PIPELINES.items() if "mongo" not in path}
DOWNLOAD_DELAY = 0.0
DOWNLOAD_DELAY_JITTER = 0.0
MAX_IDLE_TIME_BEFORE_CLOSE = 1
