"""A Scrapy project that a team runs on many machines at once, over one shared frontier in Redis."""

__version__ = "0.1.0"
