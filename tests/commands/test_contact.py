"""Who crawls is said in the user agent."""

from __future__ import annotations

from tests.commands.test_refusals import IN_MEMORY

WARNING = "Crawling crawl-test.invalid without a contact: set CONTACT"


def crawl(project, url, *args, **environ):
    return project.run(
        "crawl", "plain", "-s", "RETRY_ENABLED=False", "-s", "ROBOTSTXT_OBEY=False", *IN_MEMORY, *args, **environ
    )  # fmt: skip


def start_at(project, url):
    spiders = project.directory / "toy" / "spiders" / "__init__.py"
    spiders.write_text(spiders.read_text().replace('name = "plain"', f'name = "plain"\n    start_urls = ["{url}"]'))


def test_the_contact_stands_in_the_user_agent(project, site):
    start_at(project, site.url)
    assert crawl(project, site.url, CONTACT="https://example.com/bot").returncode == 0
    _, headers = site.visits[-1]
    assert headers["User-Agent"] == "spiders_project/0.1.0 (+https://example.com/bot)"


def test_a_user_agent_that_was_chosen_stays(project, site):
    start_at(project, site.url)
    crawl(project, site.url, "-s", "USER_AGENT=mine", "-s", "CONTACT=a@example.com")
    assert site.visits[-1][1]["User-Agent"] == "mine"


def test_without_a_contact_other_peoples_hosts_cause_one_warning(project):
    start_at(project, "http://crawl-test.invalid/")
    assert crawl(project, "").stderr.count(WARNING) == 1
    assert WARNING not in crawl(project, "", CONTACT="a@example.com").stderr


def test_without_a_contact_loopback_causes_no_warning(project, site):
    start_at(project, site.url)
    assert "without a contact" not in crawl(project, site.url).stderr
