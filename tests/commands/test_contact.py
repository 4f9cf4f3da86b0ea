"""Who crawls is said in the user agent."""

from __future__ import annotations

from tests.commands.test_refusals import IN_MEMORY

WARNING = "Crawling crawl-test.invalid without a contact: set CONTACT"


def crawl(project, url, *args, **environ):
    options = ("-a", f"start_urls={url}", "-s", "RETRY_ENABLED=False", "-s", "ROBOTSTXT_OBEY=False", *IN_MEMORY)
    return project.run("crawl", "plain", *options, *args, **environ)


def test_the_contact_stands_in_the_user_agent(project, site):
    assert crawl(project, site.url, CONTACT="https://example.com/bot").returncode == 0
    _, headers = site.visits[-1]
    assert headers["User-Agent"] == "spiders_project/0.1.0 (+https://example.com/bot)"


def test_a_user_agent_that_was_chosen_stays(project, site):
    crawl(project, site.url, "-s", "USER_AGENT=mine", "-s", "CONTACT=a@example.com")
    assert site.visits[-1][1]["User-Agent"] == "mine"


def test_without_a_contact_other_peoples_hosts_cause_one_warning(project):
    assert crawl(project, "http://crawl-test.invalid/").stderr.count(WARNING) == 1
    assert WARNING not in crawl(project, "http://crawl-test.invalid/", CONTACT="a@example.com").stderr


def test_without_a_contact_loopback_causes_no_warning(project, site):
    assert "without a contact" not in crawl(project, site.url).stderr
