import pytest
from crawl import crawl

from deploy.sample_site import expected_sitemap_pages


@pytest.mark.parametrize("seed", ["", "robots.txt", "sitemap.xml"])
def test_sitemap_finds_the_pages_from_a_root_a_robots_txt_and_a_sitemap(shop, seed):
    done = crawl("sitemap", f"{shop.url}{seed}")
    found = {item["url"]: item["lastmod"] for item in done.items}
    assert found == expected_sitemap_pages(shop.url), done.log
    assert len(done.items) == len(found)


def test_a_seed_that_leads_to_no_sitemap_is_counted(shop):
    done = crawl("sitemap", f"{shop.url}feed.rss")
    assert not done.items
    assert done.stats["sitemap/broken"] == 1
