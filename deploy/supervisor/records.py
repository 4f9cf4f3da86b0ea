"""What the supervisor remembers in Redis: the jobs that it placed, and what it makes of each crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from deploy import keys
from deploy.errors import DeployError
from deploy.redis_errors import spoken

if TYPE_CHECKING:
    import redis


class Placed(BaseModel):
    """One job that was given to a node, written before the node hears of it.

    Attributes:
        id: The job's id, ours.
        crawl: Whose worker it is.
        run: Of which start of that crawl.
        node: Where.
        spider: What it runs.
        version: From which egg.
        at: When it was placed, in unix seconds by Redis's clock, as all times here.
        attempt: How many workers in its place failed before it, one after the other.
        running_at: When it was first seen to run.
        left_at: When its worker was first seen to have left the frontier, while its process went on.
        stop_at: When its end was first asked for; None: it is to run.
        why: Why it is ended.
        hard: It does not listen any more: no time is given to finish its pages.
        signals: How many signals it has heard.
        signalled_at: When the last was sent.
        avoid: Nodes on which those before it in its place failed.
        lost: Its node and its worker fell silent and its place was given to another: ended if it ever comes back.
    """

    model_config = ConfigDict(frozen=True)

    id: str
    crawl: str
    run: int
    node: str
    spider: str
    version: str = ""
    at: float
    attempt: int = 0
    running_at: float | None = None
    left_at: float | None = None
    stop_at: float | None = None
    why: str = ""
    hard: bool = False
    signals: int = 0
    signalled_at: float = 0.0
    avoid: list[str] = Field(default_factory=list)
    lost: bool = False

    def but(self, **changes: Any) -> Placed:
        """The same with ``changes``."""
        return self.model_copy(update=changes)


class Vacancy(BaseModel):
    """A worker that is missing.

    Attributes:
        attempt: How many failed in this place, one after the other.
        due: Not before this time, in unix seconds.
        avoid: The nodes that they were on.
    """

    attempt: int = 0
    due: float = 0.0
    avoid: list[str] = Field(default_factory=list)


class Failure(BaseModel):
    """A worker that ended before its crawl did."""

    job: str
    node: str
    why: str
    at: float


class Seen(BaseModel):
    """One crawl as the supervisor sees it.

    Attributes:
        run: The start that this is about.
        vacancies: Workers that are missing.
        finished: Its frontier has nothing left, and its workers close.
        given_up: Workers that failed too often in a row, and are not replaced any more.
        turns: Workers that each node was given in this run.
        failures: The last few.
        problems: What a person should know, in words.
        at: When this was so.
    """

    run: int = 0
    vacancies: list[Vacancy] = Field(default_factory=list)
    finished: bool = False
    given_up: int = 0
    turns: dict[str, int] = Field(default_factory=dict)
    failures: list[Failure] = Field(default_factory=list)
    problems: list[str] = Field(default_factory=list)
    at: float = 0.0


def read_placed(client: redis.Redis) -> dict[str, Placed]:
    """All jobs that were placed and not forgotten, by id."""
    return {job.id: job for job in _read(client, keys.PLACED, Placed).values()}


def read_seen(client: redis.Redis) -> dict[str, Seen]:
    """What the supervisor last saw, by crawl."""
    return _read(client, keys.SEEN, Seen)


def _read(client: redis.Redis, key: str, model: Any) -> dict[str, Any]:
    with spoken():
        held: Any = client.hgetall(key)
    try:
        return {name.decode(): model.model_validate_json(text) for name, text in held.items()}
    except ValidationError as error:
        raise DeployError(f"{key} holds what this program does not understand: {error}") from error
