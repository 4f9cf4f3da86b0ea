"""The spiders of the bench; ``BENCH_SEEDS`` and ``BENCH_DOMAINS`` in the environment say where they crawl."""

import os

SEEDS = os.environ.get("BENCH_SEEDS", "").split()
DOMAINS = os.environ.get("BENCH_DOMAINS", "").split()
