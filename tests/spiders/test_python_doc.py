"""A real documentation site, crawled whole by one process on Scrapy's own scheduler."""

from collections import Counter

import pytest
from crawl import crawl

from tests.python_doc import expected_pages


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_site_stores_exactly_the_pages_of_python_doc_that_links_reach(python_doc):
    expected = expected_pages(python_doc)
    assert len(expected) > 1000
    done = crawl("site", *python_doc)
    assert Counter(done.urls()) == Counter(expected), done.log
    assert all(item["text"] and item["title"] for item in done.items if item["content_type"] == "text/html")
