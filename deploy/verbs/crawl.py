"""``crawl``: what ``make crawl`` runs, from nothing to pages in MongoDB."""

from __future__ import annotations

import os
import re
import sys
import time
from contextlib import ExitStack
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deploy.crawl import IDLE_SECONDS, Plan, last_words, prepare, start, stop
from deploy.egg import project_root
from deploy.environment import STACK_DIRECTORY, read_stack, stack_nodes
from deploy.errors import CrawlError, UsageError
from deploy.items import Stored, count_items
from deploy.local.commands import up
from deploy.local.files import only_one
from deploy.output import print_table, say
from deploy.seed import redis_client
from deploy.watch import Watched, elapsed, watch
from spiders_project.errors import SeedError
from spiders_project.seeds.schema import parse

if TYPE_CHECKING:
    from deploy.jobs import Job
    from deploy.local.info import StackInfo
    from deploy.sample_site import SampleSite

#: A site that did not ask to be crawled gets a small crawl unless the user says otherwise.
DEFAULT_PAGES = 200
SAMPLE_PORT = 8137
SAMPLE_SETTINGS = {
    # Our own server on loopback, asked by nobody else: both workers may have dozens of requests there.
    "DOWNLOAD_DELAY": "0",
    "CONCURRENT_REQUESTS_PER_DOMAIN": "64",
    # The calendar that never ends is left by the spider's own rule, not by this net behind it.
    "DEPTH_LIMIT": "100",
}
#: What the workers accept as CONTACT; refused here, before anything is built.
_CONTACT = re.compile(r"https?://\S+|[^@\s]+@[^@\s]+")


@click.command("crawl")
@click.option("--url", help="Crawl this site; without it, the sample site that the project serves itself.")
@click.option("--pages", type=click.IntRange(1), metavar="N", help="At most about N pages; with --url default 200.")
@click.option("--depth", type=click.IntRange(0), metavar="N", help="At most N links away from the URL.")
@click.option(
    "--contact", metavar="MAIL_OR_URL", envvar="CONTACT", help="Who crawls: told to the site in the User-Agent."
)
@click.option("--spider", default="site", show_default=True, help="The spider to run.")
@click.option("--fresh/--keep-data", default=True, help="Forget what earlier crawls have seen (default), or not.")
@click.pass_context
def crawl_command(
    context: click.Context,
    *,
    url: str | None,
    pages: int | None,
    depth: int | None,
    contact: str | None,
    spider: str,
    fresh: bool,
) -> None:
    """Crawl on the embedded stack: start it, push, schedule, seed, watch, and report.

    The stack stays up afterwards. What is stored stays in MongoDB; the frontier of the last crawl of this spider
    is forgotten first, because a page that it has seen would not be visited again: --keep-data keeps it.

    \b
    Examples:
      python -m deploy crawl
      python -m deploy crawl --url https://example.org/ --pages 500 --depth 4 --contact me@example.org
    """
    root = project_root()
    settings = {"MAX_IDLE_TIME_BEFORE_CLOSE": str(IDLE_SECONDS), "LOG_LEVEL": "INFO"}
    if url:
        _check(url)
        settings |= _identity(contact)
        pages = pages or DEFAULT_PAGES
    context.invoke(up, directory=Path(os.path.relpath(root / STACK_DIRECTORY)))
    stack = read_stack(root)
    if stack is None:
        raise CrawlError("`python -m deploy up` has started no stack")
    with ExitStack() as cleanup:
        # Workers take seconds to start: until then nothing else would tell a second crawl that this one exists.
        refusal = f"another crawl of {spider} is under way here: wait for its end, or interrupt it"
        cleanup.enter_context(only_one(root / STACK_DIRECTORY / f"crawl-{spider}.lock", refusal))
        if not url:
            url = cleanup.enter_context(_sample_site()).url
            settings |= SAMPLE_SETTINGS
        limits = {"max_pages": pages, "max_depth": depth}
        plan = Plan(
            spider=spider,
            seeds=(url,),
            nodes=stack_nodes(stack),
            arguments={name: str(value) for name, value in limits.items() if value is not None},
            settings=settings,
            fresh=fresh,
        )
        _run(plan, stack)


def _check(url: str) -> None:
    try:
        parse(url.encode())
    except SeedError as error:
        raise UsageError(f"{url!r} is no URL to crawl: {error}") from error


def _sample_site() -> SampleSite:
    """The sample site, on the same port each time if it is free, so that a second crawl finds the same pages."""
    from deploy.sample_site import serve  # noqa: PLC0415 - a crawl of a real site needs no server

    try:
        return serve(port=SAMPLE_PORT)
    except OSError:
        return serve()


def _run(plan: Plan, stack: StackInfo) -> None:
    root = project_root()
    client = redis_client(stack.redis_url)
    version = prepare(plan, root, client, say)
    began, began_at = time.monotonic(), datetime.now(timezone.utc)
    jobs = start(plan, version, client, say)
    try:
        watched = watch(plan, jobs, client)
    except BaseException as error:
        say("interrupted: cancelling the jobs" if isinstance(error, KeyboardInterrupt) else "cancelling the jobs")
        stop(plan, jobs, say)
        raise
    if watched.lingering:
        say("the crawl is finished and its workers do not close: cancelling them")
        stop(plan, jobs, say)
    stored = count_items(stack.mongo_uri, began_at)
    _report(jobs, watched, stored, time.monotonic() - began)
    _judge(plan, jobs, watched, stored)


def _report(jobs: list[Job], watched: Watched, stored: list[Stored], seconds: float) -> None:
    rows: list[tuple[str, object]] = [
        *((f"pages by {job.node}", watched.count("pages", job.id)) for job in jobs),
        *((f"items in {one.collection}", f"{one.written} (all crawls: {one.total})") for one in stored),
        ("errors", watched.count("errors")),
        ("given up (dead letters)", watched.status.dead if watched.status else None),
        ("duration", elapsed(seconds)),
    ]
    print_table(("crawl", "result"), rows)


def _judge(plan: Plan, jobs: list[Job], watched: Watched, stored: list[Stored]) -> None:
    """Say why the crawl is no success, if it is none."""
    status = watched.status
    if status is None or status.state != "finished":
        for node, words in last_words(plan.nodes, jobs).items():
            say(f"the last lines of {node}'s log:\n{words}")
        left = status.seeds + status.open if status else 0
        raise CrawlError(f"the workers have ended and the crawl has not: {left} requests are left, see the logs above")
    if not any(one.written for one in stored):
        rejected = f"; {status.rejected} seeds were rejected" if status.rejected else ""
        given_up = f"; `scrapy frontier dead {plan.spider}` says why {status.dead} were given up" if status.dead else ""
        raise CrawlError(
            f"the crawl finished ({status.finish_reason or 'no reason given'}) and stored nothing{rejected}{given_up}; "
            f"see `python -m deploy jobs` and the logs of the jobs"
        )


def _identity(contact: str | None) -> dict[str, str]:
    """The User-Agent with a contact: asked for on a terminal, warned about elsewhere."""
    if not contact and sys.stdin.isatty() and sys.stderr.isatty():
        contact = click.prompt(
            "A mail address or URL where the site's owner can reach you (empty: none)",
            default="",
            show_default=False,
            err=True,
        ).strip()
    if not contact:
        say("warning: this crawl names no contact; a site's owner cannot reach you: --contact MAIL_OR_URL")
        return {}
    if not _CONTACT.fullmatch(contact):
        raise UsageError(f"--contact {contact!r}: give a mail address or a URL that begins with http")
    return {"CONTACT": contact}
