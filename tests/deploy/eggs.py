"""Small eggs, made in no time and listed by a node twice as fast as the project's own."""

from __future__ import annotations

import io
import zipfile

SPIDER = """
import asyncio, os, signal
import scrapy

if os.environ.get("NODE_NAME") == {breaks_on!r}:
    import no_such_package

class Telling(scrapy.Spider):
    name = "telling"

    async def start(self):
        if getattr(self, "deaf", None):
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.logger.info("I am {word}, and this job runs version " + __file__.split(".egg")[0].rpartition("/")[2])
        while getattr(self, "stays", None) and self.crawler.crawling:
            await asyncio.sleep(0.1)
        return
        yield
"""


def small_egg(word: str, *, breaks_on: str = "") -> bytes:
    """An egg with the spider ``telling``, which logs ``word``; a node called ``breaks_on`` cannot import it.

    Its arguments: with ``stays`` it runs on, with ``deaf`` it hears no INT.
    """
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr("EGG-INFO/PKG-INFO", "Metadata-Version: 1.0\nName: told\nVersion: 1\n")
        file.writestr("EGG-INFO/entry_points.txt", "[scrapy]\nsettings = told.settings\n")
        file.writestr("told/__init__.py", "")
        file.writestr("told/settings.py", "SPIDER_MODULES = ['told.spiders']\nTELNETCONSOLE_ENABLED = False\n")
        file.writestr("told/spiders/__init__.py", SPIDER.format(word=word, breaks_on=breaks_on))
    return content.getvalue()
