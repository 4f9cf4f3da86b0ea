"""A real documentation site, crawled whole by one process on Scrapy's own scheduler."""

from collections import Counter

import pytest
from crawl import crawl

from tests.python_doc import expected_pages


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_site_stores_exactly_the_pages_of_python_doc_that_links_reach(python_doc):
    seed = python_doc[0]  # two hosts are crawled by two nodes: tests/deploy/doors
    expected = expected_pages([seed])
    assert len(expected) > 500
    done = crawl("site", seed)
    assert Counter(done.urls()) == Counter(expected), done.log
    assert all(item["text"] and item["title"] for item in done.items if item["content_type"] == "text/html")
