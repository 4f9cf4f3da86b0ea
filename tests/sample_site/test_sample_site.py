import gzip
import http.client
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from deploy.sample_site import expected_entries, expected_pages, expected_products, serve
from deploy.sample_site.content import Site
from deploy.sample_site.oddities import CALENDAR_MONTHS, HUGE_BYTES, MAZE_DEPTH
from spiders_project.spider_bases.links import MAX_REPEATS, MAX_SERIES

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site():
    with serve() as site:
        yield site


def get(site, path):
    with urlopen(f"{site.url}{path}", timeout=10) as response:
        return response.read()


def test_the_site_is_the_same_each_time_but_for_its_address():
    one, other = Site("http://127.0.0.1:1/"), Site("http://127.0.0.1:1/")
    assert one._routes == other._routes
    assert len(expected_products()) == 240
    assert len(expected_entries("http://127.0.0.1:1/")) == 30


def test_every_page_expected_of_a_crawl_is_served(site):
    for url in expected_pages(site.url):
        with urlopen(url, timeout=10) as response:
            assert response.status == 200
            assert response.headers["Content-Type"].startswith("text/")


def test_the_bounds_expected_are_those_of_the_site_spider():
    assert CALENDAR_MONTHS == MAX_SERIES + 1
    assert MAZE_DEPTH == MAX_REPEATS


def test_the_calendar_never_ends_and_turns_the_year(site):
    assert b"/calendar?month=2027-01" in get(site, "calendar?month=2026-12")
    assert b"/calendar?month=9999-02" in get(site, "calendar?month=9999-01")


@pytest.mark.parametrize(
    ("path", "status"), [("missing", 404), ("error", 500), ("calendar?month=x", 404), ("maze/b/", 404)]
)
def test_broken_pages_answer_with_their_status(site, path, status):
    with pytest.raises(HTTPError) as caught:
        get(site, path)
    with caught.value as error:
        assert error.code == status


def test_a_reset_is_a_reset(site):
    with pytest.raises(ConnectionResetError):
        get(site, "reset")


def test_the_huge_page_is_larger_than_a_crawler_should_take(site):
    assert len(get(site, "huge")) > HUGE_BYTES


def test_the_sitemap_is_gzipped(site):
    assert gzip.decompress(get(site, "sitemap-products.xml.gz")).count(b"<loc>") == 240


def test_connections_are_kept_alive_pipelined_and_logged(site):
    before = len(site.arrivals)
    with socket.create_connection(("127.0.0.1", int(site.url.split(":")[2][:-1])), timeout=10) as client:
        client.sendall(b"GET /about HTTP/1.1\r\nHost: a\r\n\r\nHEAD /about?x=1 HTTP/1.1\r\n")
        client.sendall(b"Connection: close\r\n\r\n")
        answer = b"".join(iter(lambda: client.recv(65536), b""))
    assert answer.count(b"HTTP/1.1 200 OK") == 2
    assert answer.count(b"<h1>About</h1>") == 1
    one, other = site.arrivals[before:]
    assert (one.target, other.target) == ("/about", "/about?x=1")
    assert one.connection == other.connection
    assert one.time <= other.time <= time.monotonic()


def test_the_server_is_no_bottleneck(site):
    host = site.url.removeprefix("http://").rstrip("/")
    connection = http.client.HTTPConnection(host, timeout=10)
    start, spent = time.thread_time(), time.process_time()
    for _ in range(1000):
        connection.request("GET", "/about")
        connection.getresponse().read()
    connection.close()
    in_the_server = (time.process_time() - spent) - (time.thread_time() - start)
    assert in_the_server < 1, f"1,000 small pages cost the server {in_the_server:.2f} s of one core"


def test_stop_closes_port_and_connections_and_may_be_called_twice():
    site = serve()
    port = int(site.url.split(":")[2][:-1])
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.sendall(b"GET /about HTTP/1.1\r\n\r\n")
        assert client.recv(100)
        site.stop()
        site.stop()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=10)


def test_it_can_listen_on_another_loopback_address():
    with serve("127.0.0.3") as site:
        assert site.url.startswith("http://127.0.0.3:")
        assert b"About" in get(site, "about")


def test_the_command_prints_its_address_and_ends_on_interrupt():
    command = [sys.executable, "-m", "deploy.sample_site", "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        url = process.stdout.readline().strip()
        with urlopen(url, timeout=10) as response:
            assert b"Sample shop" in response.read()
        process.send_signal(2)
        assert process.wait(10) == 0
