"""Which hosts belong to a seed."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Collection

    from scrapy.http import Response


def host_of(url: str) -> str:
    """Host and port of ``url`` in lower case, the default port left out; empty where it has no host."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return ""
    host = parts.hostname or ""
    return host if port in (None, 80, 443) else f"{host}:{port}"


class Scope:
    """The hosts that the pages linked from one response may lie on.

    With ``domains`` it is these and their subdomains. Without, it is the seed's host, and the host that the
    seed redirects to: ``http://x`` that answers with ``https://www.x`` opens both. A request carries its
    hosts in ``meta`` only where its own URL does not say them, so that most requests stay small.
    """

    def __init__(self, response: Response, domains: Collection[str] | None = None) -> None:
        self.domains = [domain.lower() for domain in domains or ()]
        assert response.request is not None
        meta = response.meta
        self.hosts: frozenset[str] = frozenset(meta.get("hosts", ()))
        if not self.hosts:
            requested = host_of(meta.get("redirect_urls", [response.request.url])[0])
            is_seed = not meta.get("depth", 0)
            self.hosts = frozenset({requested, host_of(response.url)} if is_seed else {requested})

    def __contains__(self, url: str) -> bool:
        if self.domains:
            host = host_of(url).partition(":")[0]
            return any(host == domain or host.endswith(f".{domain}") for domain in self.domains)
        return host_of(url) in self.hosts

    def meta_for(self, url: str) -> dict[str, list[str]]:
        """What the request for ``url`` must carry so that its response opens this scope again."""
        if self.domains or self.hosts == {host_of(url)}:
            return {}
        return {"hosts": sorted(self.hosts)}
