"""Spider arguments: strings from the command line or from Scrapyd, checked before the crawl starts."""

from __future__ import annotations

import re  # noqa: TC003 - pydantic resolves the annotations at run time
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, NonNegativeInt, PositiveInt, ValidationError

from spiders_project.errors import ConfigError
from spiders_project.spider_bases.links import MAX_SERIES


def _words(value: Any) -> Any:
    return value.replace(",", " ").split() if isinstance(value, str) else value


def _urls(value: Any) -> Any:
    return value.split() if isinstance(value, str) else value


def _one_or_many(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class CrawlArguments(BaseModel):
    """What every spider understands; a spider with arguments of its own names a subclass as ``arguments``.

    Attributes:
        max_pages: How many pages the whole crawl may fetch, over all workers; None for no limit.
        allowed_domains: The domains to stay in, separated by commas or blanks.
        start_urls: Seeds of this run, separated by blanks.
    """

    max_pages: PositiveInt | None = None
    allowed_domains: Annotated[list[str], BeforeValidator(_words)] | None = None
    start_urls: Annotated[list[str], BeforeValidator(_urls)] | None = None


class FollowOptions(BaseModel):
    """Which links are followed; as arguments for a whole crawl, or in the ``meta`` of one seed.

    Attributes:
        allow: Regular expressions; a URL that matches none of them is not followed. Empty: all are.
        deny: Regular expressions; a URL that matches one of them is not followed.
        max_depth: How many links away from its seed a page may lie; None for no limit.
        max_series: How many links in a row may lead from a page to one whose path differs in numbers only.
    """

    allow: Annotated[list[re.Pattern[str]], BeforeValidator(_one_or_many)] = []
    deny: Annotated[list[re.Pattern[str]], BeforeValidator(_one_or_many)] = []
    max_depth: NonNegativeInt | None = None
    max_series: NonNegativeInt = MAX_SERIES

    def admits(self, url: str) -> bool:
        """Whether a link to ``url`` is to be followed."""
        if self.allow and not any(pattern.search(url) for pattern in self.allow):
            return False
        return not any(pattern.search(url) for pattern in self.deny)


def parse_arguments(model: type[BaseModel], arguments: dict[str, Any]) -> dict[str, Any]:
    """``arguments`` with those that ``model`` knows converted; the others stay as they came.

    Raises:
        ConfigError: An argument has a value that its type does not take; the text names it.
    """
    known = {name: value for name, value in arguments.items() if name in model.model_fields}
    try:
        parsed = model.model_validate(known)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = first["loc"][0]
        raise ConfigError(f"spider argument {name}={arguments[str(name)]!r} is refused: {first['msg']}") from None
    return {**arguments, **{name: getattr(parsed, name) for name in known}}


def follow_options(values: dict[str, Any], base: FollowOptions | None = None) -> FollowOptions:
    """``base`` with the options that ``values`` (a spider's attributes, a seed's meta) gives put in their place.

    Raises:
        ConfigError: An option has a value that its type does not take; the text names it.
    """
    base = base or FollowOptions()
    given = {name: values[name] for name in FollowOptions.model_fields if name in values}
    if not given:
        return base
    try:
        own = FollowOptions.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = str(first["loc"][0])
        raise ConfigError(f"{name}={given[name]!r} is refused: {first['msg']}") from None
    return base.model_copy(update={name: getattr(own, name) for name in given})
