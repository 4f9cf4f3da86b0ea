"""What a path of the sample site answers."""

from __future__ import annotations

from dataclasses import dataclass

HTML = "text/html; charset=utf-8"


@dataclass(frozen=True)
class Reply:
    """One answer.

    Attributes:
        body: The bytes of the body.
        status: The HTTP status.
        content_type: The Content-Type header; empty for none.
        headers: Further headers.
        stored: Whether a crawl of the whole site that keeps the web's manners stores this page.
        reset: Cut the connection instead of answering.
    """

    body: bytes = b""
    status: int = 200
    content_type: str = HTML
    headers: tuple[tuple[str, str], ...] = ()
    stored: bool = False
    reset: bool = False


def stored(html: str) -> Reply:
    """A page that a crawl stores."""
    return Reply(html.encode(), stored=True)


def redirect(location: str, status: int = 301) -> Reply:
    """A redirect to ``location``."""
    return Reply(status=status, headers=(("Location", location),))
