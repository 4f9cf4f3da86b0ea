from dataclasses import asdict
from datetime import timezone

from crawl import crawl

from deploy.sample_site import expected_entries


def test_feed_reads_rss_and_atom_and_goes_on_after_a_document_that_is_no_feed(shop):
    feeds = ("feed-broken.xml", "feed.rss", "feed.atom")
    done = crawl("feed", *(f"{shop.url}{name}" for name in feeds))
    expected = {
        (entry.feed_url, entry.id): {
            name: str(value.astimezone(timezone.utc)) if hasattr(value, "astimezone") else value
            for name, value in asdict(entry).items()
        }
        for entry in expected_entries(shop.url)
    }
    found = {(item["feed_url"], item["id"]): item for item in done.items}
    assert len(found) == len(done.items) == len(expected), done.log
    assert {key: {**value, "class": "FeedEntry"} for key, value in expected.items()} == found
    assert done.stats["feed/broken"] == 1
    assert f"no feed at {shop.url}feed-broken.xml" in done.log
