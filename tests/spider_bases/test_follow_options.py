import pytest
from scrapy import Request
from scrapy.http import HtmlResponse
from scrapy.utils.test import get_crawler

from spiders_project.errors import ConfigError
from spiders_project.spider_bases.links import MAX_SERIES
from spiders_project.spiders.site import SiteSpider

BODY = b"".join(
    b"<a href='%s'>x</a>" % href for href in (b"/keep/1", b"/drop/1", b"/keep/drop", b"http://other.org/", b"/a.zip")
)


def site(**arguments):
    return SiteSpider.from_crawler(get_crawler(SiteSpider), **arguments)


def followed(spider, body=BODY, headers=None, **meta):
    url = "http://a.org/"
    response = HtmlResponse(url, body=body, headers=headers, request=Request(url, meta=meta))
    return [(request.url.removeprefix("http://a.org"), request.meta) for request in spider.follow_links(response)]


def test_all_pages_of_the_host_are_followed_with_an_empty_meta():
    assert followed(site()) == [("/keep/1", {}), ("/drop/1", {}), ("/keep/drop", {})]


def test_allow_and_deny_are_regular_expressions_over_the_url():
    assert [url for url, _ in followed(site(allow="/keep/", deny="drop$"))] == ["/keep/1"]


def test_a_seeds_meta_goes_before_the_arguments_and_is_handed_on():
    assert followed(site(allow="/drop/"), allow=["/keep/1"]) == [("/keep/1", {"allow": ["/keep/1"]})]


def test_max_depth_counts_links_from_the_seed():
    assert followed(site(max_depth="0")) == []
    assert len(followed(site(max_depth="2"), depth=1)) == 3
    assert followed(site(max_depth="2"), depth=2) == []
    assert followed(site(), depth=2, max_depth=2) == []


def test_links_that_the_frontier_is_known_to_have_seen_become_no_requests():
    spider = site()
    spider.known_links = {"http://a.org/keep/1"}
    assert [url for url, _ in followed(spider)] == ["/drop/1", "/keep/drop"]


@pytest.mark.parametrize("arguments", [{"allow": "("}, {"max_depth": "-1"}, {"max_depth": "deep"}])
def test_a_malformed_argument_is_refused_by_name(arguments):
    with pytest.raises(ConfigError, match=f"spider argument {next(iter(arguments))}="):
        site(**arguments)


def test_a_malformed_option_of_a_seed_is_refused_by_name():
    with pytest.raises(ConfigError, match=r"deny='\(' is refused"):
        followed(site(), deny="(")


def test_allowed_domains_go_before_the_seeds_host():
    assert [url for url, _ in followed(site(allowed_domains="other.org"))] == ["http://other.org/"]


def test_nofollow_of_the_page_or_its_headers_stops_following():
    assert followed(site(), b"<meta name=robots content='none'>" + BODY) == []
    assert followed(site(), headers={"X-Robots-Tag": "nofollow"}) == []


def test_a_series_is_followed_so_far_and_no_further():
    spider = site()
    body = b"<a href='/?month=2'>next</a><a href='/other'>out</a>"
    assert followed(spider, body, series=MAX_SERIES - 1) == [("/?month=2", {"series": MAX_SERIES}), ("/other", {})]
    assert followed(spider, body, series=MAX_SERIES) == [("/other", {})]
    assert spider.crawler.stats.get_value("links/endless") == 1
    assert len(followed(site(max_series="100"), body, series=MAX_SERIES)) == 2


def test_a_request_takes_nothing_else_from_the_response_as_its_download_slot():
    meta = {"download_slot": "a.org", "redirect_urls": ["http://a.org/old"], "download_latency": 0.1}
    assert followed(site(), **meta)[0] == ("/keep/1", {})
