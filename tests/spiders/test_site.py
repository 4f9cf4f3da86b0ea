from collections import Counter

import pytest
from crawl import crawl, refused

from deploy.sample_site import expected_pages, serve


@pytest.fixture(scope="module")
def whole():
    """One crawl of the whole sample site: the site with its arrivals, and what came of it."""
    with serve() as site:
        yield site, crawl("site", site.url)


def by_path(done, site):
    return {item["url"].removeprefix(site.url): item for item in done.items}


def test_every_page_of_the_sample_site_is_stored_once_and_no_other(whole):
    site, done = whole
    assert Counter(done.urls()) == Counter(expected_pages(site.url)), done.log


def test_what_robots_may_not_visit_is_not_visited(whole):
    site, _ = whole
    visited = {arrival.target for arrival in site.arrivals}
    assert not visited & {"/private/ledger", "/rel-nofollow", "/behind-nofollow", "/behind-x-nofollow"}
    assert "/behind-noindex" in visited


def test_each_page_is_visited_once_but_for_those_that_fail(whole):
    site, _ = whole
    often = {target: times for target, times in Counter(a.target for a in site.arrivals).items() if times > 1}
    assert often.keys() - {"/error", "/reset", "/robots.txt", "/about"} == set()


def test_what_goes_wrong_is_counted_and_logged_with_its_url_and_the_crawl_goes_on(whole):
    site, done = whole
    assert done.stats["finish_reason"] == "finished"
    assert "spider_exceptions/count" not in done.stats
    assert done.stats["httperror/response_ignored_status_count/404"] == 1
    assert done.stats["httperror/response_ignored_status_count/500"] == 1
    assert done.stats["robotstxt/forbidden"] == 1
    assert done.stats["site/no_text"] == 3
    assert done.stats["site/noindex"] == 2
    assert done.stats["site/redirected_offsite"] == 1
    assert done.stats["links/endless"] == 2
    for path in ("reset", "huge"):
        assert f"Error downloading <GET {site.url}{path}>" in done.log


def test_pages_are_read_as_a_person_reads_them(whole):
    site, done = whole
    pages = by_path(done, site)
    assert pages["windows-1251"]["h1"] == "Компас"
    assert "латуни" in pages["windows-1251"]["text"]
    assert pages["shift-jis"]["title"] == "羅針盤"
    assert pages["nul"]["text"] == "Nul byte\nbeforeafter"
    assert pages["product/sk-0001"]["metadata"]["json_ld"][0]["sku"] == "SK-0001"
    assert pages["product/sk-0001"]["metadata"]["open_graph"]["og:type"] == "product"
    assert pages["moved-here"]["requested_url"] == f"{site.url}moved/1"
    assert pages["notes.txt"]["content_type"] == "text/plain"
    assert (pages[""]["depth"], pages["odd"]["depth"], pages["behind-noindex"]["depth"]) == (0, 1, 3)
    assert pages["odd"]["referer"] == site.url


def test_options_in_the_meta_of_one_seed_hold_for_its_pages(shop):
    seed = {"url": shop.url, "meta": {"max_depth": 2, "allow": "/category/", "deny": ["page=3"]}}
    done = crawl("site", seed)
    paths = {path.partition("?")[0].partition("/")[0] for path in by_path(done, shop)}
    assert paths == {"", "category"}
    assert len(done.items) == 1 + 12 * 2
    assert max(item["depth"] for item in done.items) == 2


def test_the_host_that_a_seed_redirects_to_is_the_seeds_too(shop):
    done = crawl("site", f"{shop.url}to-other-host", max_depth="1")
    other = shop.url.replace("127.0.0.1", "localhost")
    assert set(done.urls()) == {f"{other}{path}" for path in ("", "about", "other-host", "behind-other-host")}


def test_seeds_of_several_hosts_each_keep_to_their_own(shop):
    with serve("127.0.0.2") as other:
        done = crawl("site", f"{shop.url}noindex", f"{other.url}noindex")
    assert set(done.urls()) >= {f"{shop.url}behind-noindex", f"{other.url}behind-noindex"}
    assert set(done.urls()) == expected_pages(shop.url) | expected_pages(other.url)


def test_a_malformed_argument_ends_the_crawl_before_it_starts(shop):
    log = refused("site", shop.url, max_pages="abc")
    assert "spider argument max_pages='abc' is refused" in log
    assert "Spider opened" not in log
