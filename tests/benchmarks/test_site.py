"""The site: known, whole, and the same in each run."""

from urllib.request import urlopen

import pytest

from benchmarks.site import LINKS, Plan
from benchmarks.site_server import NginxSite, OwnSite, site_server

PLAN = Plan(pages=300, hosts=6)


def reached(plan, group):
    found, ahead = {group}, [group]
    while ahead:
        new = set(plan.links(ahead.pop())) - found
        found |= new
        ahead += new
    return found


def test_every_page_is_reached_from_its_halfs_seed_and_no_page_of_the_other_half():
    assert [reached(PLAN, group) for group in (0, 1)] == [set(range(0, 300, 2)), set(range(1, 300, 2))]


def test_the_halves_live_on_different_hosts():
    hosts = [{PLAN.url(n, 80).split("/")[2] for n in range(group, 300, 2)} for group in (0, 1)]
    assert hosts[0] & hosts[1] == set()
    assert len(hosts[0] | hosts[1]) == 6


def test_a_closed_site_links_within_hosts_and_reaches_all():
    plan = Plan(pages=90, hosts=3, closed=True)
    assert [reached(plan, group) for group in range(3)] == [set(range(group, 90, 3)) for group in range(3)]


@pytest.mark.parametrize("page", [0, 1, 150, 299])
def test_a_page_has_twenty_different_links_and_about_ten_kilobytes(page):
    body = PLAN.body(page, 8080)
    assert body.count("<a href=") == len(set(PLAN.links(page))) == LINKS
    assert 9_500 < len(body) < 10_800
    assert body == Plan(pages=300, hosts=6).body(page, 8080)


@pytest.mark.parametrize("kind", [OwnSite, NginxSite])
def test_each_server_serves_the_pages_and_logs_who_came(server_directory, kind):
    if kind is NginxSite and not isinstance(site_server(server_directory, PLAN), NginxSite):
        kind = OwnSite  # without nginx, the bench uses the other one too
    server_directory.chmod(0o711)
    server = kind(server_directory / "site", PLAN, logged=True)
    server.start()
    try:
        for number in (0, 1, 299):
            with urlopen(PLAN.url(number, server.port)) as response:
                assert response.headers["Content-Type"] == "text/html; charset=utf-8"
                assert response.read().decode() == PLAN.body(number, server.port)
        assert [path for _, _, path in server.arrivals] == ["/p/0", "/p/1", "/p/299"]
        assert [host for _, host, _ in server.arrivals] == ["127.0.0.1", "127.0.0.2", "127.0.0.6"]
        server.forget_arrivals()
        assert server.arrivals == []
        assert server.cpu_seconds() >= 0
    finally:
        server.stop()
    assert server.process is None
