"""URLs with passwords, shown without them."""

from __future__ import annotations

import re

_PASSWORD = re.compile(r"(?<=://)([^/@\s]*):([^/\s]*)@")
_QUERY = re.compile(r"([?&](?:password|passwd|pwd|token|secret)=)[^&\s]+", re.IGNORECASE)


def mask(text: str) -> str:
    """``text`` with ``***`` for the password of every URL in it."""
    return _QUERY.sub(r"\1***", _PASSWORD.sub(r"\1:***@", text))


def mask_of_url(text: str, url: str) -> str:
    """``text`` about ``url`` without its password, also where only a part of the URL is quoted."""
    user, at, _ = url.partition("://")[2].partition("/")[0].rpartition("@")
    password = user.partition(":")[2]
    return mask(text.replace(f":{password}@", ":***@") if at and password else text)
