"""The nodes: the ``[deploy:NAME]`` sections of scrapy.cfg, read as ``scrapyd-deploy`` reads them.

``[deploy]`` gives defaults to every section (and is the target ``default`` when it has a url), $VARIABLES are
expanded from the environment, and a target without username falls back to netrc.
"""

from __future__ import annotations

import os
import re
from configparser import Error as ConfigParserError
from configparser import InterpolationError
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapyd_client.utils import get_config

from deploy.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from configparser import ConfigParser

DEFAULT_PROJECT = "spiders_project"
_VARIABLE = re.compile(r"\$(?:(\w+)|\{([^}]*)\})", re.ASCII)


@dataclass(frozen=True)
class Node:
    """One Scrapyd daemon.

    Attributes:
        name: NAME of ``[deploy:NAME]``.
        url: Where it answers; a path prefix is kept.
        project: The Scrapyd project that our eggs belong to there.
        username: For basic authentication; empty: ask netrc.
        password: Never shown, also not by ``repr``.
    """

    name: str
    url: str
    project: str = DEFAULT_PROJECT
    username: str = ""
    password: str = field(default="", repr=False)


def read_targets(names: Sequence[str] = ()) -> list[Node]:
    """The nodes called ``names``, or all of them, in the order of scrapy.cfg.

    Raises:
        UsageError: No scrapy.cfg, no such target, or a target that cannot be used as it is written.
    """
    try:
        config: ConfigParser = get_config()
    except ConfigParserError as error:
        raise UsageError(f"scrapy.cfg cannot be read: {error}") from error
    sections = {section.partition(":")[2]: section for section in config.sections() if section.startswith("deploy:")}
    if config.has_option("deploy", "url"):
        sections = {"default": "deploy", **sections}
    if not sections:
        raise UsageError(
            "no [deploy:NAME] section found in scrapy.cfg: run this inside the project, or add one with a url"
        )
    for name in names:
        if name not in sections:
            raise UsageError(f"scrapy.cfg has no target {name!r}: it has {', '.join(sections)}")
    return [_node(config, name, section) for name, section in sections.items() if not names or name in names]


def _node(config: ConfigParser, name: str, section: str) -> Node:
    values: dict[str, str] = {}
    for source in ("deploy", section):
        if config.has_section(source):
            for option in config.options(source):
                values[option] = _expanded(config, source, option, name)
    url = values.get("url", "")
    if not url:
        raise UsageError(f"target {name!r} in scrapy.cfg has no url")
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UsageError(f"target {name!r} in scrapy.cfg: its url must look like http://host:6800/")
    if parts.username or parts.password:
        raise UsageError(
            f"target {name!r} in scrapy.cfg: username and password are options of their own, not part of it"
        )
    return Node(
        name=name,
        url=url.rstrip("/") + "/",
        project=values.get("project") or DEFAULT_PROJECT,
        username=values.get("username", ""),
        password=values.get("password", ""),
    )


def _expanded(config: ConfigParser, section: str, option: str, target: str) -> str:
    raw = config.get(section, option, raw=True)
    for match in _VARIABLE.finditer(raw):
        variable = match[1] or match[2]
        # A password may hold a dollar sign of its own: it is a variable only when it is nothing else.
        if variable not in os.environ and (option != "password" or match[0] == raw):
            raise UsageError(
                f"target {target!r} in scrapy.cfg: {option} = {match[0]}, but {variable} is not set. "
                f"For the embedded stack: `python -m deploy up`; for other nodes, export it"
            )
    try:
        return config.get(section, option)
    except InterpolationError:
        # Its text would show the value, which may be a password.
        raise UsageError(f"target {target!r} in scrapy.cfg, {option}: a % is written %%") from None
