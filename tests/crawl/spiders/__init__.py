"""Spiders of the whole-crawl tests; SPIDER_MODULES of tests.crawl.settings."""
