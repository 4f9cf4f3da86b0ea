import pytest
from scrapy import Request
from scrapy.http import Response

from spiders_project.spider_bases import Scope
from spiders_project.spider_bases.scope import host_of


def response(url, **meta):
    return Response(url, request=Request(url, meta=meta))


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://A.org/", "a.org"),
        ("https://a.org:443/x", "a.org"),
        ("http://a.org:8080/", "a.org:8080"),
        ("http://[::1]:81/", "::1:81"),
        ("http://a:port/", ""),
        ("http://[bad/", ""),
    ],
)
def test_a_host_is_name_and_port_without_the_default_port(url, host):
    assert host_of(url) == host


def test_a_seed_opens_its_own_host_and_no_other():
    scope = Scope(response("http://a.org/"))
    assert "https://a.org/x" in scope
    assert "http://www.a.org/" not in scope
    assert "http://a.org:8080/" not in scope


def test_a_seed_that_redirects_opens_both_hosts_and_its_pages_carry_them():
    scope = Scope(response("https://www.a.org/", redirect_urls=["http://a.org/"]))
    assert "http://a.org/x" in scope
    assert "https://www.a.org/x" in scope
    meta = scope.meta_for("https://www.a.org/x")
    assert "http://a.org/" in Scope(response("https://www.a.org/x", depth=1, **meta))


def test_a_page_that_redirects_elsewhere_is_out_of_scope():
    url = "http://b.org/"
    scope = Scope(response(url, redirect_urls=["http://a.org/x"], depth=1))
    assert url not in scope
    assert "http://a.org/y" in scope


def test_a_request_carries_nothing_where_its_url_says_its_host():
    assert Scope(response("http://a.org/")).meta_for("http://a.org/x") == {}


def test_domains_take_their_subdomains_on_any_port_and_the_seed_does_not_count():
    scope = Scope(response("http://z.org/"), ["A.org"])
    assert "http://a.org:8080/" in scope
    assert "http://www.a.org/" in scope
    assert "http://ba.org/" not in scope
    assert "http://z.org/" not in scope
    assert scope.meta_for("http://a.org/x") == {}
