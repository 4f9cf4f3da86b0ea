"""A real documentation site, crawled whole: the pages stored are those that its links reach, no more, no fewer."""

import os
import threading
from collections import Counter
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urldefrag, urljoin

import pytest
from crawl import crawl

DOC = Path("/usr/share/doc/python3.11/html")
PARTS = ("library/index.html", "index.html")  # one seed on each address
ADDRESSES = ("127.0.0.1", "127.0.0.2")


class Anchors(HTMLParser):
    def __init__(self):
        super().__init__()
        self.hrefs = []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if tag == "a" and attributes.get("href"):
            self.hrefs.append(attributes["href"])


def reachable(path):
    """The HTML and text files that links reach from ``path``, found with nothing but html.parser."""
    base = "http://doc/"
    found, waiting = set(), [base + path]
    while waiting:
        url = waiting.pop()
        file = DOC / url.removeprefix(base)
        if url in found or not url.startswith(base) or not file.is_file() or file.suffix not in (".html", ".txt"):
            continue
        found.add(url)
        if file.suffix == ".html":
            parser = Anchors()
            parser.feed(file.read_text())
            waiting += [urldefrag(urljoin(url, href)).url for href in parser.hrefs]
    return {url.removeprefix(base) for url in found}


class Quiet(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass


@pytest.fixture
def hosts():
    if not DOC.is_dir():
        message = f"{DOC} is missing: install Debian's python3-doc to crawl a real site"
        pytest.fail(message) if os.environ.get("CI") == "true" else pytest.skip(message)
    servers = [ThreadingHTTPServer((address, 0), partial(Quiet, directory=DOC)) for address in ADDRESSES]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    yield [f"http://{server.server_address[0]}:{server.server_port}/" for server in servers]
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_site_stores_exactly_the_pages_of_python_doc_that_links_reach(hosts):
    expected = {host + path for host, part in zip(hosts, PARTS, strict=True) for path in reachable(part)}
    assert len(expected) > 1000
    done = crawl("site", *(host + part for host, part in zip(hosts, PARTS, strict=True)))
    assert Counter(done.urls()) == Counter(expected), done.log
    assert all(item["text"] and item["title"] for item in done.items if item["content_type"] == "text/html")
    print(done.stats["elapsed_time_seconds"])
