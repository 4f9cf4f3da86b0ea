"""When timers fire: as crontab(5) says, also where clocks change, and where APScheduler's own reading differs."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from apscheduler.triggers.cron import CronTrigger
from hypothesis import given, settings
from hypothesis import strategies as st

from deploy.fleet import TimerSpec
from deploy.timers.times import cron_triggers, next_after

BERLIN = ZoneInfo("Europe/Berlin")


def times(start: str, count: int = 3, **spec) -> list[str]:
    timer = TimerSpec(crawl="site", **spec)
    moment = anchor = datetime.fromisoformat(start).timestamp()
    found = []
    for _ in range(count):
        moment = next_after(timer, anchor, moment)
        if moment is None:
            return [*found, "never"]
        found.append(datetime.fromtimestamp(moment, ZoneInfo(timer.timezone)).strftime("%a %m-%d %H:%M%z"))
    return found


@pytest.mark.parametrize(
    ("cron", "expected"),
    [
        ("30 6 * * *", ["Tue 12-01 06:30+0000", "Wed 12-02 06:30+0000"]),
        ("*/20 * * * *", ["Mon 11-30 23:20+0000", "Mon 11-30 23:40+0000"]),
        ("0 9 * * 0", ["Sun 12-06 09:00+0000", "Sun 12-13 09:00+0000"]),
        ("0 9 * * 7", ["Sun 12-06 09:00+0000", "Sun 12-13 09:00+0000"]),
        ("0 9 * * 1-5", ["Tue 12-01 09:00+0000", "Wed 12-02 09:00+0000"]),
        ("0 9 * * FRI-sun", ["Fri 12-04 09:00+0000", "Sat 12-05 09:00+0000"]),
        ("0 9 * * 6-7", ["Sat 12-05 09:00+0000", "Sun 12-06 09:00+0000"]),
        ("0 9 * * */3", ["Wed 12-02 09:00+0000", "Sat 12-05 09:00+0000"]),
        ("0 0 13 * 5", ["Fri 12-04 00:00+0000", "Fri 12-11 00:00+0000"]),
        ("0 0 1 jan *", ["Fri 01-01 00:00+0000", "Sat 01-01 00:00+0000"]),
        ("0 0 29 2 *", ["Tue 02-29 00:00+0000", "Sun 02-29 00:00+0000"]),
        ("0 0 30 2 *", ["never"]),
    ],
)
def test_cron_means_what_crontab_says(cron, expected):
    assert times("2026-11-30T23:00:00+00:00", count=2, cron=cron) == expected


def test_a_day_of_the_month_or_of_the_week_is_enough_when_both_are_named():
    found = times("2026-12-09T00:00:00+00:00", count=3, cron="0 0 13 * 5")
    assert found == ["Fri 12-11 00:00+0000", "Sun 12-13 00:00+0000", "Fri 12-18 00:00+0000"]


def test_apschedulers_own_reading_differs():
    """apscheduler#286, and a daily time that comes twice where clocks go back."""
    sunday = CronTrigger.from_crontab("0 9 * * 0", timezone=BERLIN)
    first = sunday.get_next_fire_time(None, datetime(2026, 12, 1, tzinfo=BERLIN))
    assert first.strftime("%a") == "Mon"
    twice = CronTrigger.from_crontab("30 2 * * *", timezone=BERLIN)
    found = [twice.get_next_fire_time(None, datetime(2026, 10, 25, 2, minute, tzinfo=BERLIN)) for minute in (0, 31)]
    assert [f"{one:%d %H:%M%z}" for one in found] == ["25 02:30+0200", "25 02:30+0100"]


@pytest.mark.parametrize(
    ("start", "cron", "expected"),
    [
        # Forward: 02:30 does not exist on 28 March.
        ("2027-03-27T12:00+01:00", "30 2 * * *", ["Sun 03-28 03:30+0200", "Mon 03-29 02:30+0200"]),
        # Back: 02:30 comes twice on 25 October.
        ("2026-10-24T12:00+02:00", "30 2 * * *", ["Sun 10-25 02:30+0200", "Mon 10-26 02:30+0100"]),
        ("2026-10-25T02:00+02:00", "30 * * * *", ["Sun 10-25 02:30+0200", "Sun 10-25 02:30+0100"]),
        ("2026-10-25T02:45+02:00", "30 * * * *", ["Sun 10-25 02:30+0100", "Sun 10-25 03:30+0100"]),
        ("2027-03-28T01:00+01:00", "30 * * * *", ["Sun 03-28 01:30+0100", "Sun 03-28 03:30+0200"]),
    ],
)
def test_where_clocks_change_nothing_is_left_out_and_nothing_doubled(start, cron, expected):
    assert times(start, count=2, cron=cron, timezone="Europe/Berlin") == expected


def test_an_interval_is_counted_from_its_anchor_without_drift():
    timer = TimerSpec(crawl="site", interval="90s")
    assert [next_after(timer, 1000.0, moment) for moment in (1000.0, 1001.0, 1090.0, 1e6, 1e6 + 100)] == [
        *(1090.0, 1090.0, 1180.0, 1_000_090.0, 1_000_180.0)
    ]


def test_a_date_fires_once_in_its_own_zone():
    assert times(
        "2026-11-30T00:00+00:00", date=datetime.fromisoformat("2026-12-24T18:00"), timezone="Europe/Berlin"
    ) == [*("Thu 12-24 18:00+0100", "never")]


@pytest.mark.parametrize("cron", ["0 9 * * 8", "0 9 * * someday", "61 * * * *", "0 25 * * *", "0 0 * * 1-"])
def test_what_is_no_time_is_refused(cron):
    with pytest.raises(ValueError, match=r"."):
        cron_triggers(cron)


@settings(max_examples=60, deadline=None)
@given(
    moment=st.integers(1_700_000_000, 1_900_000_000),
    cron=st.sampled_from(["*/7 * * * *", "5 */3 * * *", "15 2 * * *", "0 0 1 * *", "30 1 * * 0"]),
    zone=st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia"]),
)
def test_the_next_time_is_always_later(moment, cron, zone):
    found = next_after(TimerSpec(crawl="site", cron=cron, timezone=zone), moment, moment)
    assert found is not None
    assert moment < found < moment + 40 * 86_400
