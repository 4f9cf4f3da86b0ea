"""What spiders are made of; ``docs/spiders.md`` shows how to write one."""

from spiders_project.spider_bases.arguments import CrawlArguments, FollowOptions
from spiders_project.spider_bases.document import Document
from spiders_project.spider_bases.scope import Scope
from spiders_project.spider_bases.shared_crawl_spider import SharedCrawlSpider
from spiders_project.spider_bases.shared_spider import SharedSpider

__all__ = ["CrawlArguments", "Document", "FollowOptions", "Scope", "SharedCrawlSpider", "SharedSpider"]
