"""Commands of the project's ``scrapy``: Scrapy's own with checked settings, and ``seed``."""
