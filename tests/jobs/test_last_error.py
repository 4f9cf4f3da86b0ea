"""What is kept of the last error: the end of its traceback, without secrets."""

from __future__ import annotations

import logging
import time

import pytest

from spiders_project.jobs.last_error import LastError, fit_to_keep, secrets_of


@pytest.fixture
def errors():
    handler = LastError()
    logger = logging.getLogger("tests.last_error")
    logger.addHandler(handler)
    logger.propagate = False
    yield handler, logger
    logger.removeHandler(handler)


def test_the_newest_traceback_is_kept(errors):
    handler, logger = errors
    for word in ("first", "second"):
        try:
            {}[word]
        except KeyError:
            logger.exception("in %s", "here")
    logger.error("no traceback")
    logger.warning("nor this", exc_info=ValueError("below an error"))
    assert handler.text.startswith("in here\nTraceback (most recent call last):\n")
    assert handler.text.endswith("KeyError: 'second'\n")
    logger.critical("The worker stops.")
    assert handler.text == "The worker stops."


def test_a_long_error_is_bounded_and_quickly_made_fit(errors):
    handler, logger = errors
    logger.critical("a-" * 500_000)
    began = time.monotonic()
    assert len(fit_to_keep(handler.text)) == 4000
    assert len(handler.text) < 50_000
    assert time.monotonic() - began < 1


def test_there_is_one_for_each_process():
    root = logging.getLogger()
    before = list(root.handlers)
    try:
        assert LastError.installed() is LastError.installed()
    finally:
        root.handlers[:] = before


@pytest.mark.parametrize(
    "text",
    [
        "redis://user:hunter2@host/0",
        "connect(password='hunter2', port=1)",
        '{"api_key": "hunter2"}',
        "Authorization: 'Basic hunter2'",
        "https://h/?a=1&token=hunter2&b=2",
        "said hunter2 to it",
    ],
)
def test_secrets_are_kept_out(text):
    settings = {
        "REDIS_URL": "redis://:hunter2@h/0",
        "REDIS_PARAMS": {"password": "other-secret"},
        "MONGO_URI": "mongodb://a:b%40c%20d@h",
    }
    found = secrets_of(settings)
    assert found == {"hunter2", "other-secret", "b%40c%20d", "b@c d"}
    kept = fit_to_keep(text, found if text.startswith("said") else ())
    assert "hunter2" not in kept
    assert "***" in kept


def test_words_are_no_secrets():
    text = "KeyError: 'token'\nthe password is missing, tokens = 3"
    assert fit_to_keep(text) == text
    assert secrets_of({"REDIS_URL": "redis://:abc@h/0", "MONGO_URI": "mongodb://[", "REDIS_PARAMS": None}) == set()


def test_the_end_is_kept_where_the_exception_stands():
    kept = fit_to_keep("x" * 5000 + "OSError: here")
    assert len(kept) == 4000
    assert kept.startswith("…x")
    assert kept.endswith("OSError: here")
