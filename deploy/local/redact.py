"""Addresses without their secrets, for people to read."""

from __future__ import annotations

import re


def redacted(url: str) -> str:
    """``url`` with user and password replaced: ``redis://***@127.0.0.1:6379/0``."""
    return re.sub(r"//[^/]*@", "//***@", url, count=1)
