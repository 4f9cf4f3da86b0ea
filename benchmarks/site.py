"""The site that is crawled: deterministic pages of about 10 kB with 20 links, on loopback addresses.

It has two closed halves, the pages with even and with odd numbers, which live on different hosts: two processes that
share nothing can crawl one half each, and together fetch what two workers fetch that share a frontier.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

LINKS = 20
#: Links that every page of a half has, as a site's navigation.
NAVIGATION = 5
#: Pages that are linked from one page first; by them all pages are reached.
CHILDREN = 5
PAGE_BYTES = 10_000
ROWS = 100
_WORDS = [
    "crawl",
    "page",
    "host",
    "link",
    "seed",
    "queue",
    "lease",
    "worker",
    "fetch",
    "store",
    "parse",
    "field",
    "value",
    "table",
    "index",
    "river",
    "stone",
    "winter",
    "garden",
    "letter",
    "window",
    "number",
    "system",
    "market",
    "county",
    "island",
    "bridge",
]


def addresses(hosts: int) -> list[str]:
    """So many addresses of loopback, which are the site's hosts."""
    return [f"127.0.{n // 250}.{n % 250 + 1}" for n in range(hosts)]


@dataclass(frozen=True)
class Plan:
    """What there is, and where.

    Attributes:
        pages: How many pages; even.
        hosts: How many hosts; even, so that a half's hosts are its own.
        lists: How many pages with 100 rows and without links (``/l/N``) there are beside them.
        closed: Whether a page links to pages of its own host only, for crawls that are bound by politeness.
        page_bytes: About how large a page is; its links are there in any case.
    """

    pages: int
    hosts: int
    lists: int = 0
    closed: bool = False
    page_bytes: int = PAGE_BYTES

    @cached_property
    def addresses(self) -> list[str]:
        """The hosts."""
        return addresses(self.hosts)

    @property
    def groups(self) -> int:
        """How many sets of pages there are that do not link to each other."""
        return self.hosts if self.closed else 2

    def url(self, page: int, port: int) -> str:
        """Where a page is."""
        return f"http://{self.addresses[page % self.hosts]}:{port}/p/{page}"

    def seeds(self, port: int, group: int | None = None) -> list[str]:
        """The URLs from which every page is reached, or every page of one group."""
        return [self.url(n, port) for n in (range(self.groups) if group is None else [group])]

    def expected(self, port: int) -> set[str]:
        """Every page."""
        return {self.url(n, port) for n in range(self.pages)}

    def links(self, page: int) -> list[int]:
        """The 20 pages that a page links to; fewer where its group is smaller."""
        group, own = page % self.groups, page // self.groups
        size = (self.pages - group + self.groups - 1) // self.groups
        children = range(own * CHILDREN + 1, own * CHILDREN + CHILDREN + 1)
        found = dict.fromkeys(n for n in (*range(NAVIGATION), *children) if n < size)
        chance = random.Random(page)
        while len(found) < min(LINKS, size):
            found[chance.randrange(size)] = None
        return [group + n * self.groups for n in found]

    def body(self, page: int, port: int) -> str:
        """A page's HTML."""
        items = "".join(
            f'<li class="link"><a href="{self.url(n, port)}">Page {n} of the site</a></li>\n' for n in self.links(page)
        )
        head = f'<!DOCTYPE html>\n<html lang="en"><head><title>Page {page}</title></head>\n<body><ul>\n{items}</ul>\n'
        chance = random.Random(-page - 1)
        paragraphs: list[str] = []
        left = self.page_bytes - len(head)
        while left > 0:
            paragraphs.append(f"<p>{' '.join(chance.choices(_WORDS, k=60))}.</p>\n")
            left -= len(paragraphs[-1])
        return f"{head}<main>\n{''.join(paragraphs)}</main>\n</body></html>\n"

    def write(self, root: Path, port: int) -> None:
        """Make the files that a server serves."""
        for folder in ("p", "l"):
            (root / folder).mkdir(parents=True, exist_ok=True)
        for page in range(self.pages):
            (root / "p" / str(page)).write_text(self.body(page, port))
        for number in range(self.lists):
            (root / "l" / str(number)).write_text(list_body(number))


def list_body(number: int) -> str:
    """The HTML of a page with a hundred rows."""
    rows = "".join(
        f'<li class="item"><b>Thing {number}-{row}</b> <i>{row}.50</i> <u>a line about it, {"and more " * 5}</u></li>\n'
        for row in range(ROWS)
    )
    return f"<!DOCTYPE html>\n<html><head><title>List {number}</title></head><body><ul>\n{rows}</ul></body></html>\n"
