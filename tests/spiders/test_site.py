from collections import Counter

from crawl import crawl

from deploy.sample_site import expected_pages


def test_site_stores_every_page_of_the_sample_site_once_and_no_other(shop):
    done = crawl("site", shop.url)
    assert Counter(done.urls()) == Counter(expected_pages(shop.url)), done.log
