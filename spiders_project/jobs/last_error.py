"""The last traceback that this process logged, fit to be kept: without secrets, and not too long."""

from __future__ import annotations

import logging
import re
import traceback
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from spiders_project.jobs.record import MOST_ERROR
from spiders_project.redis_settings import json_object
from spiders_project.secrets import mask

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_NAMED = re.compile(
    r"""(?i)(\b[\w-]{0,40}(?:password|passwd|secret|token|api_?key|authorization)["']?\s*[:=]\s*)(["'])(?:(?!\2).)+\2"""
)
#: Characters that are remembered; longer than what is kept, so that no secret is cut in two before it is found.
_MOST_TEXT = 5 * MOST_ERROR
#: A password that is shorter would be found in ordinary words.
_SHORTEST = 4


class LastError(logging.Handler):
    """Remembers the newest log record with a traceback; of critical ones also those without."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.text = ""

    @classmethod
    def installed(cls) -> LastError:
        """The one of this process, put behind the root logger if there is none yet."""
        root = logging.getLogger()
        for handler in root.handlers:
            if isinstance(handler, cls):
                return handler
        handler = cls()
        root.addHandler(handler)
        return handler

    def emit(self, record: logging.LogRecord) -> None:
        """Called by logging."""
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            # As text, at once: a kept exception would keep its frames, and with them whole responses.
            self.text = f"{record.getMessage()}\n{text_of(error)}"[-_MOST_TEXT:]
        elif record.levelno >= logging.CRITICAL:
            self.text = record.getMessage()[-_MOST_TEXT:]


def text_of(error: BaseException) -> str:
    """The traceback of ``error``."""
    return "".join(traceback.format_exception(type(error), error, error.__traceback__))


def secrets_of(settings: Mapping[str, Any]) -> set[str]:
    """The passwords in ``settings``: of REDIS_URL, MONGO_URI and REDIS_PARAMS."""
    found = {
        str(json_object(settings, name).get("password") or "") for name in ("REDIS_PARAMS", "REDIS_SENTINEL_PARAMS")
    }
    for name in ("REDIS_URL", "MONGO_URI"):
        try:
            password = urlsplit(str(settings.get(name) or "")).password or ""
        except ValueError:
            continue
        found |= {password, unquote(password)}
    return {secret for secret in found if len(secret) >= _SHORTEST}


def fit_to_keep(text: str, secrets: Iterable[str] = ()) -> str:
    """The end of ``text``, with ``***`` for passwords: those in URLs, those given a name, and ``secrets``."""
    text = _NAMED.sub(r"\1\2***\2", mask(text))
    for secret in secrets:
        text = text.replace(secret, "***")
    if len(text) <= MOST_ERROR:
        return text
    return "…" + text[-MOST_ERROR + 1 :]
