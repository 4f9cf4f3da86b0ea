"""The scheduler: where Scrapy's engine meets the shared frontier.

A request's way through this worker: the engine asks ``next_request`` and gets one that ``Exchange`` has claimed; a
``Delivery`` follows it; when the engine's slot lets go of it (callback ended, items through the pipelines) and nobody
holds it any more, its ack goes out behind the puts that its callback made.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import DontCloseSpider
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.misc import load_object
from scrapy_redis import scheduler as scrapy_redis_scheduler
from twisted.python.failure import Failure

from spiders_project import statnames as stat
from spiders_project.delivery import Delivery, deliveries_of
from spiders_project.errors import CodecError, ConfigError, FrontierError
from spiders_project.frontier.connection import async_client, blocking_client
from spiders_project.frontier.contract import Ack, Bury, Left
from spiders_project.frontier.exchange import Exchange, patiently
from spiders_project.frontier.heartbeat import Heartbeat
from spiders_project.frontier.options import FrontierOptions
from spiders_project.frontier.redis_frontier import RedisFrontier
from spiders_project.frontier.requests import RequestCodec, assign_slot
from spiders_project.frontier.seed_reader import SeedReader

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.internet.defer import Deferred

    from spiders_project.frontier.contract import Answer, Claim
    from spiders_project.frontier.dupefilter import DupeFilter

logger = logging.getLogger(__name__)

#: Seconds that a stopping worker waits for Redis; what was not said is said by the reaper: the requests return.
CLOSE_PATIENCE = 10.0
