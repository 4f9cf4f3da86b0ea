"""What a job says when it could not say it itself: a spider that fails before it is open leaves a record, too.

Scrapyd lists such a job as "finished", and its traceback goes to the daemon's own log at best. This stands around the
whole command, so it knows of refused settings, of spiders that cannot be imported, and of what fails in a constructor.
"""

from __future__ import annotations

import atexit
import sys
import time
from typing import TYPE_CHECKING, Any

from spiders_project.config import Options
from spiders_project.errors import ConfigError
from spiders_project.frontier.connection import blocking_client
from spiders_project.jobs import store
from spiders_project.jobs.last_error import LastError, fit_to_keep, secrets_of, text_of
from spiders_project.jobs.record import FAILED, age_of_process, facts_of, state_of, this_process

if TYPE_CHECKING:
    from collections.abc import Mapping

NOT_OPENED, NOT_CLOSED, REFUSED = "not_opened", "not_closed", "refused"


class LastWord:
    """Completes the job's record at the end of the process, unless the job has told its end itself.

    Attributes:
        settings: Where Redis is, and this project's options.
    """

    def __init__(self, settings: Mapping[str, Any], job: str, spider: str, version: str) -> None:
        """From now on errors are listened to."""
        self.settings = settings
        self._job, self._spider, self._version = job, spider, version
        self._state, self._reason, self._refusal = FAILED, NOT_OPENED, ""
        self._errors = LastError.installed()
        atexit.register(self.say)

    def refused(self, why: str) -> None:
        """The job's settings or arguments are wrong."""
        self._reason, self._refusal = REFUSED, why

    def opened(self) -> None:
        """The spider is open."""
        self._reason = NOT_CLOSED

    def closed(self, reason: str) -> None:
        """The spider has closed, for this reason; Scrapy also says so of one that it could not open."""
        if self._reason == NOT_CLOSED:
            self._state, self._reason = state_of(reason), reason

    def say(self) -> None:
        """Write; raises nothing, for nobody is left to hear of it."""
        try:
            options = _options(self.settings)
            if not options.job_records_max:
                return
            client = blocking_client(self.settings)
            store.write(
                client,
                self._job,
                self._state,
                {
                    **facts_of(self._spider, self._version, options),
                    "reason": self._reason,
                    "error": self._error() or None,
                },
                process=this_process(),
                age=age_of_process(),
                clock=time.time(),
                keep_seconds=options.job_records_seconds,
            )
            client.close()
        except Exception as error:  # noqa: BLE001 - whatever it is, the process ends now
            # Not by logging, which is not set up yet in a job that fails early. Scrapyd logs what comes here.
            sys.stderr.write(f"The end of job {self._job} is not recorded: {error}\n")

    def _error(self) -> str:
        # Set by the interpreter when it prints the traceback of what nobody caught.
        uncaught = getattr(sys, "last_value", None)
        text = self._refusal or (text_of(uncaught) if uncaught is not None else self._errors.text)
        return fit_to_keep(text, secrets_of(self.settings))


def _options(settings: Mapping[str, Any]) -> Options:
    try:
        return Options.from_settings(settings)
    except ConfigError:  # the very reason, perhaps, why the job was refused
        return Options()
