"""As same_plain, on scrapy-redis as its README sets it up."""

import os

from benchmarks.peers.same_plain import *  # noqa: F403 - a settings module is nothing but names

REDIS_URL = os.environ["REDIS_URL"]
SCHEDULER = "scrapy_redis.scheduler.Scheduler"
DUPEFILTER_CLASS = "scrapy_redis.dupefilter.RFPDupeFilter"
SCHEDULER_PERSIST = True  # without it the first of two workers that closes deletes the queue of the other
MAX_IDLE_TIME_BEFORE_CLOSE = 5
