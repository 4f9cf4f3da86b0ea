"""Scrapy's own defaults; the spiders of the bench, and the witness."""

SPIDER_MODULES = ["benchmarks.peers.spiders"]
EXTENSIONS = {"benchmarks.peers.witness.Witness": 0}
