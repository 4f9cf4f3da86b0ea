from crawl import crawl

from deploy.sample_site import expected_products


def test_a_spider_with_rules_follows_them(shop):
    done = crawl("ruled", shop.url, settings={"SPIDER_MODULES": ["tests.spiders.ruled"]})
    assert sorted(done.urls()) == sorted(f"{shop.url}{p.path[1:]}" for p in expected_products().values()), done.log
