"""The traps and the broken things of the web, one path each; ``/odd`` links to them."""

from __future__ import annotations

from functools import cache

from deploy.sample_site.markup import links, page
from deploy.sample_site.reply import HTML, Reply, redirect, stored

#: More than a crawler should take; the project's DOWNLOAD_MAXSIZE is below it.
HUGE_BYTES = 21 * 1024 * 1024
#: How many months of the endless calendar a crawl stores: the spider's bound on a series, and the first one.
CALENDAR_MONTHS = 41
#: How deep a crawl goes into relative links that lead to themselves.
MAZE_DEPTH = 3


def odd_routes(other_host: str) -> dict[str, Reply]:
    """Path → reply of every fixed oddity; ``other_host`` is this site's address under another name."""
    routes = {**_errors(), **_redirects(other_host), **_encodings(), **_robots(), **_broken_markup()}
    routes["/odd"] = stored(_index())
    return routes


def _index() -> str:
    fetched = (
        "/missing", "/error", "/reset", "/huge", "/old-about", "/moved/1", "/loop/a", "/to-other-host",
        "/manual.pdf", "/download/manual", "/data.json", "/notes.txt", "/windows-1251", "/shift-jis", "/nul",
        "/half-characters", "/no-such-charset", "/noindex", "/nofollow", "/x-noindex", "/x-nofollow",
        "/for-another-robot", "/private/ledger", "/empty", "/no-html", "/broken-json-ld", "/bad-links",
        "/calendar?month=2026-01", "/maze/a/", "/session?PHPSESSID=5f3a",
        "/session;jsessionid=77?utm_source=odd",
    )  # fmt: skip
    return page(
        "Odd corners",
        links((path, path) for path in fetched) + links([("/rel-nofollow", "not for robots")], ' rel="nofollow"'),
    )


def _errors() -> dict[str, Reply]:
    return {
        "/error": Reply(page("Broken", "").encode(), status=500),
        "/reset": Reply(reset=True),
        "/manual.pdf": Reply(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n", content_type="application/pdf"),
        "/download/manual": Reply(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n", content_type="application/pdf"),
        "/data.json": Reply(b'{"page": "/not-a-link"}', content_type="application/json"),
    }


@cache
def huge() -> Reply:
    """A page that is too large."""
    return Reply(page("Huge", "<p>" + "x " * (HUGE_BYTES // 2)).encode())


def _redirects(other_host: str) -> dict[str, Reply]:
    return {
        "/old-about": redirect("/about"),
        "/moved/1": redirect("/moved/2"),
        "/moved/2": redirect("/moved/3", 302),
        "/moved/3": redirect("/moved-here", 308),
        "/moved-here": stored(page("Moved here", "<p>Three redirects lead here.</p>")),
        "/loop/a": redirect("/loop/b"),
        "/loop/b": redirect("/loop/a"),
        "/to-other-host": redirect(f"{other_host}other-host"),
        "/other-host": Reply(page("Another host", links([("/behind-other-host", "further")])).encode()),
        "/behind-other-host": Reply(page("Behind another host", "").encode()),
    }


def _encodings() -> dict[str, Reply]:
    search = "/search?q=привет"
    cyrillic = page("Компас", f"<p>Морской компас из латуни.</p>{links([(search, 'поиск')])}", language="ru")
    japanese = page("羅針盤", "<p>真鍮製の羅針盤です。</p>", language="ja").replace('<meta charset="utf-8">', "")
    return {
        # The page alone says which encoding; its link's query is to be sent in the same.
        "/windows-1251": Reply(
            cyrillic.replace("utf-8", "windows-1251").encode("cp1251"), content_type="text/html", stored=True
        ),
        "/search?q=%EF%F0%E8%E2%E5%F2": stored(page("Found", "<p>One compass.</p>")),
        "/shift-jis": Reply(japanese.encode("shift_jis"), content_type="text/html; charset=Shift_JIS", stored=True),
        "/nul": stored(page("Nul\0 byte", "<p>before\0after</p>")),
        "/half-characters": Reply(
            page("Half", '<p>@</p><script type="application/ld+json">{"name": "\\ud83d"}</script>')
            .encode()
            .replace(b"@", b"\xed\xa0\xbd"),
            stored=True,
        ),
        "/no-such-charset": Reply(
            page("Charset", "<p>declared as klingon</p>").encode(),
            content_type="text/html; charset=klingon",
            stored=True,
        ),
        "/notes.txt": Reply("Plain notes: café.\n".encode(), content_type="text/plain; charset=utf-8", stored=True),
    }


def _robots() -> dict[str, Reply]:
    def asks(title: str, directive: str) -> str:
        behind = links([(f"/behind-{title}", "further")])
        return page(title, behind, head=f'<meta name="ROBOTS" content="{directive}">' if directive else "")

    def behind(title: str, *, is_stored: bool) -> dict[str, Reply]:
        return {f"/behind-{title}": Reply(page(f"Behind {title}", "").encode(), stored=is_stored)}

    return {
        "/noindex": Reply(asks("noindex", "noindex").encode()),
        **behind("noindex", is_stored=True),
        "/nofollow": stored(asks("nofollow", "index, NOFOLLOW")),
        **behind("nofollow", is_stored=False),
        "/x-noindex": Reply(asks("x-noindex", "").encode(), headers=(("X-Robots-Tag", "noindex"),)),
        **behind("x-noindex", is_stored=True),
        "/x-nofollow": Reply(
            asks("x-nofollow", "").encode(), headers=(("X-Robots-Tag", "noarchive, nofollow"),), stored=True
        ),
        **behind("x-nofollow", is_stored=False),
        "/for-another-robot": Reply(
            page("For another robot", "").encode(),
            headers=(("X-Robots-Tag", "otherbot: noindex, nofollow"),),
            stored=True,
        ),
        "/rel-nofollow": Reply(page("Not for robots", "").encode()),
        "/private/ledger": Reply(page("The ledger", "").encode()),
        "/session": stored(page("Session", "<p>One page, whatever the session.</p>")),
    }


def _broken_markup() -> dict[str, Reply]:
    hrefs = (
        "http://[1", "javascript:void(0)", "mailto:shop@example.org", "http://offsite.invalid/", "//", "",
        "#top", " /spaced\n",
    )  # fmt: skip
    return {
        "/empty": Reply(stored=True),
        "/no-html": Reply(b'No tags but <a href="/behind-no-html">this', content_type="text/html", stored=True),
        "/behind-no-html": stored(page("Behind no HTML", "")),
        "/broken-json-ld": stored(
            page("Broken JSON-LD", "<p>x</p>", head='<script type="application/ld+json">{"a": </script>')
        ),
        "/bad-links": stored(page("Bad links", links((href, "link") for href in hrefs))),
        "/spaced": stored(page("Spaced", "")),
    }


def calendar(month: str) -> Reply | None:
    """A month (``2026-01``) of a calendar that never ends; None where the text is no month."""
    year, _, number = month.partition("-")
    if not (year.isdecimal() and number.isdecimal()):
        return None
    following = int(year) * 12 + int(number)
    href = f"/calendar?month={following // 12:04}-{following % 12 + 1:02}"
    return Reply(page(f"Calendar {month}", links([(href, "next month")])).encode())


def calendar_targets() -> list[str]:
    """The months that a crawl stores."""
    first = 2026 * 12
    return [f"/calendar?month={m // 12:04}-{m % 12 + 1:02}" for m in range(first, first + CALENDAR_MONTHS)]


def maze(path: str) -> Reply | None:
    """A directory that links to itself, one deeper; None where ``path`` is not in the maze."""
    if path.removeprefix("/maze/").replace("a/", ""):
        return None
    return Reply(page("Maze", links([("a/", "deeper")])).encode(), content_type=HTML)


def maze_targets() -> list[str]:
    """The rooms of the maze that a crawl stores."""
    return [f"/maze/{'a/' * depth}" for depth in range(1, MAZE_DEPTH + 1)]
