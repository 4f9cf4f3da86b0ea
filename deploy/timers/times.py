"""When a timer fires, by APScheduler's triggers; without jitter, which is drawn once for each firing.

Cron expressions mean what crontab(5) says, where APScheduler's own reading differs: 0 and 7 are Sunday, a time that
matches the day of the month or that of the week is enough when both are named, and when clocks change a time
that is skipped fires right after, one that comes twice fires once, unless the hour is ``*``, which means each real one.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.interval import IntervalTrigger

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deploy.fleet import TimerSpec

_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_PART = re.compile(r"(?:\*|(\w+)(?:-(\w+))?)(?:/([1-9]\d*))?", re.ASCII)
#: Nothing that a calendar has is farther apart: 29 February, where a century year is none.
_FARTHEST = timedelta(days=8 * 366)
#: No zone puts its clocks back farther at once.
_CLOCKS_BACK = timedelta(hours=3)


def next_after(spec: TimerSpec, anchor: float, moment: float) -> float | None:
    """The first time later than ``moment`` at which the timer fires; None: never again.

    Args:
        spec: The timer.
        anchor: From when on an interval is counted, in unix seconds, as all times here.
        moment: The time.
    """
    if spec.cron:
        return _next_of_cron(spec.cron, ZoneInfo(spec.timezone), moment)
    if spec.interval:
        return _next_of_interval(spec.interval, anchor, moment)
    at = time_of_date(spec)
    return at if at is not None and at > moment else None


def time_of_date(spec: TimerSpec) -> float | None:
    """The one time of a ``date``; None for another kind of timer."""
    if spec.date is None:
        return None
    return (spec.date if spec.date.tzinfo else spec.date.replace(tzinfo=ZoneInfo(spec.timezone))).timestamp()


def _next_of_interval(seconds: float, anchor: float, moment: float) -> float | None:
    start = datetime.fromtimestamp(anchor, timezone.utc)
    trigger = IntervalTrigger(seconds=seconds, start_date=start, timezone=timezone.utc)
    found = trigger.get_next_fire_time(None, datetime.fromtimestamp(max(moment, anchor), timezone.utc))
    while found is not None and found.timestamp() <= max(moment, anchor):
        found = trigger.get_next_fire_time(found, found)
    return None if found is None else float(found.timestamp())


def _next_of_cron(text: str, zone: ZoneInfo, moment: float) -> float | None:
    each_real_hour = text.split()[1].startswith("*")
    here = datetime.fromtimestamp(moment, zone).replace(tzinfo=None)
    # Clock faces after the change may lie before this one.
    for face in _faces(text, here - _CLOCKS_BACK):
        for fold in (0, 1) if each_real_hour else (0,):
            at = face.replace(tzinfo=zone, fold=fold).timestamp()
            if at > moment:
                return at
    return None


def _faces(text: str, start: datetime) -> Iterator[datetime]:
    """What a clock on the wall shows when it fires, from ``start`` on; APScheduler counts it as if it were UTC."""
    now = start.replace(tzinfo=timezone.utc)
    triggers = cron_triggers(text, now + _FARTHEST)
    while True:
        found = [at for trigger in triggers if (at := trigger.get_next_fire_time(None, now)) is not None]
        if not found:
            return
        yield min(found).replace(tzinfo=None)
        now = min(found) + timedelta(seconds=1)


def cron_triggers(text: str, end: datetime | None = None) -> list[CronTrigger]:
    """Triggers of which any may fire, for a cron expression of five fields, until ``end``.

    Raises:
        ValueError: A field is none.
    """
    minute, hour, day, month, weekday = text.split()
    week = _weekdays(weekday)
    either = [(day, "*"), ("*", week)] if day != "*" and week != "*" else [(day, week)]
    return [
        CronTrigger(
            minute=minute, hour=hour, day=of_month, month=month, day_of_week=of_week, second=0,
            timezone=timezone.utc, end_date=end,
        )
        for of_month, of_week in either
    ]  # fmt: skip


def _weekdays(text: str) -> str:
    """The field by names, since APScheduler's numbers begin with Monday."""
    days: set[int] = set()
    for part in text.split(","):
        match = _PART.fullmatch(part)
        if not match:
            raise ValueError(f"{text!r} is no day of the week: write it like 1-5, 0, sun or mon,thu")
        first, last, step = match.groups()
        if first is None and step is None:
            return "*"
        low = 0 if first is None else _weekday(first, text)
        high = 6 if first is None else low if last is None and step is None else _weekday(last or "6", text)
        if high < low:
            high += 7
        days.update(day % 7 for day in range(low, high + 1, int(step or 1)))
    return ",".join(_WEEKDAYS[day] for day in sorted(days))


def _weekday(word: str, text: str) -> int:
    if word.lower() in _WEEKDAYS:
        return _WEEKDAYS.index(word.lower())
    if word.isdigit() and int(word) <= 7:  # noqa: PLR2004 - both 0 and 7 are Sunday
        return int(word)
    raise ValueError(f"{text!r} is no day of the week: write it like 1-5, 0, sun or mon,thu")
