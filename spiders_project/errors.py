"""Every exception that this project raises, in one tree."""


class CrawlerError(Exception):
    """The root: catch it to catch whatever this project raises on purpose."""


class ConfigError(CrawlerError):
    """A setting is malformed, unknown under one of our prefixes, or refused; raised at start, names the setting."""


class SeedError(CrawlerError):
    """An entry of ``start_urls`` is no seed; raised by ``seeds.schema``, the text is the reason kept with it."""


class CodecError(CrawlerError):
    """A request cannot be written to, or read from, the frontier; raised by ``frontier.codec``."""


class FrontierError(CrawlerError):
    """Redis answered, and will not do what was asked; raised by ``frontier``, says what to change."""


class FrontierUnavailable(FrontierError):  # noqa: N818 - the name of the state that the worker waits out
    """Redis does not answer or cannot take writes for now; raised by ``frontier``, the worker waits and tries again."""


class StorageError(CrawlerError):
    """MongoDB answered, and will not do what was asked (password, role, URI); raised by ``pipelines`` at start."""


class RejectedItem(CrawlerError):  # noqa: N818 - a verdict on an item, not a failure of the program
    """An item failed validation or cannot be stored; raised by ``pipelines``, carries field and reason."""
