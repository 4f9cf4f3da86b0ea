"""The connection to MongoDB: made without a secret in any message, checked before the crawl begins."""

from __future__ import annotations

import asyncio
import logging
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from pymongo import AsyncMongoClient, MongoClient, ReadPreference, WriteConcern
from pymongo.errors import InvalidURI, OperationFailure, PyMongoError, WriteError

from spiders_project.errors import StorageError
from spiders_project.pipelines.encoder import CODEC
from spiders_project.pipelines.failures import (
    AUTHENTICATION_FAILED,
    BAD_VALUE,
    UNAUTHORIZED,
    UNKNOWN_WRITE_CONCERN,
    UNSATISFIABLE_WRITE_CONCERN,
    CannotWrite,
    explain,
    is_passing,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pymongo.asynchronous.collection import AsyncCollection
    from pymongo.asynchronous.database import AsyncDatabase
    from pymongo.database import Database

    from spiders_project.pipelines.options import StorageOptions
    from spiders_project.pipelines.patience import Patience

Client = TypeVar("Client")

#: Codes that may pass in the middle of a crawl, with an operator at work; at its start they are wrong settings.
REFUSED_AT_START = (UNAUTHORIZED, AUTHENTICATION_FAILED, UNKNOWN_WRITE_CONCERN, UNSATISFIABLE_WRITE_CONCERN)
#: Milliseconds after which the driver gives up a call, so that an outage is seen; we try again for ever.
TIMEOUTS = {"serverSelectionTimeoutMS": 5_000, "connectTimeoutMS": 5_000, "socketTimeoutMS": 60_000}


def connect(options: StorageOptions) -> AsyncMongoClient[dict[str, Any]]:
    """A client for ``MONGO_URI``; nothing is sent yet.

    Raises:
        StorageError: The URI is malformed, or asks for something that the driver cannot do.
    """
    return _client(AsyncMongoClient, options)


@contextmanager
def blocking_database(options: StorageOptions) -> Iterator[Database[dict[str, Any]]]:
    """The database of the items, for commands that have nothing else to do.

    Raises:
        StorageError: The URI is malformed, or asks for something that the driver cannot do.
    """
    with _client(MongoClient, options) as client:
        yield client.get_database(options.database, codec_options=CODEC)


def _client(kind: Callable[..., Client], options: StorageOptions) -> Client:
    # At DEBUG the driver logs every command, with the documents.
    if logging.getLogger("pymongo").level == logging.NOTSET:
        logging.getLogger("pymongo").setLevel(logging.INFO)
    given = options.uri.lower()
    defaults: dict[str, Any] = {name: value for name, value in TIMEOUTS.items() if name.lower() not in given}
    try:
        if not options.uri.startswith(("mongodb://", "mongodb+srv://")):
            raise InvalidURI("it does not begin with mongodb://")
        with warnings.catch_warnings():
            # The driver warns of options that it does not know, and goes on without them.
            warnings.simplefilter("error", UserWarning)
            return kind(options.uri, tz_aware=True, appname="spiders_project", **defaults)
    except (PyMongoError, ValueError, TypeError, OSError, UserWarning) as error:
        # The driver's text may quote the part of the URI that holds the password.
        quotable = isinstance(error, OSError | UserWarning) or "@" not in options.uri
        why = str(error) if quotable else type(error).__name__
        raise StorageError(
            f"MONGO_URI is not usable ({why}). It has the form"
            " mongodb://[user:password@]host[:port][/database][?options]; characters of a password outside"
            " [A-Za-z0-9_.~-] are written as %XX."
        ) from None


def database(client: AsyncMongoClient[dict[str, Any]], options: StorageOptions) -> AsyncDatabase[dict[str, Any]]:
    """The database of the items: reading from the primary, acknowledged from the journal."""
    return client.get_database(
        options.database,
        codec_options=CODEC,
        read_preference=ReadPreference.PRIMARY,
        # The journal, so that a killed mongod has not forgotten what it acknowledged.
        write_concern=WriteConcern(w=options.write_concern, j=True),
    )


async def wait_until_usable(db: AsyncDatabase[dict[str, Any]], patience: Patience) -> None:
    """Return when MongoDB answers and lets us write; wait while it is away.

    Raises:
        StorageError: It answers, and will not let us write.
    """

    async def probe() -> None:
        # An update that matches nothing needs the right to write and the write concern, and writes nothing.
        await db["items"].update_one({"_id": "may this user write?"}, {"$set": {"yes": True}})

    def cures(error: Exception) -> bool:
        code = error.code if isinstance(error, OperationFailure) else None
        return code not in REFUSED_AT_START and is_passing(error)

    try:
        await patience("be reached", probe, cures)
    except OperationFailure as error:
        raise StorageError(_sentence(error, db)) from None
    except (PyMongoError, asyncio.InvalidStateError) as error:
        raise StorageError(f"MongoDB is not usable: {explain(error)}") from None


async def ask_for_a_write(collection: AsyncCollection[dict[str, Any]]) -> None:
    """Return when MongoDB takes writes into a collection, as far as their documents are right.

    Raises:
        CannotWrite: It refuses the command itself.
        PyMongoError: It is away.
    """
    try:
        # An array is no _id, and nothing else is wrong with it: whoever says so has taken the command.
        await collection.insert_one({"_id": []})
    except WriteError:
        return
    except OperationFailure as error:
        raise CannotWrite(f"it takes no write into {collection.name}: {explain(error)}") from error


def _sentence(error: OperationFailure, db: AsyncDatabase[dict[str, Any]]) -> str:
    name = db.name
    if error.code in (BAD_VALUE, UNKNOWN_WRITE_CONCERN, UNSATISFIABLE_WRITE_CONCERN):
        return (
            f"MONGO_WRITE_CONCERN = {db.write_concern.document['w']} cannot be had from this MongoDB"
            f" ({explain(error)}). Set it to majority, which fits every server, or to 1; more members and tags need a"
            " replica set that has them."
        )
    if error.code == AUTHENTICATION_FAILED:
        return (
            "MongoDB refuses the user or password of MONGO_URI. Check both, and authSource: the database that"
            " the user was created in."
        )
    if error.code == UNAUTHORIZED and "requires authentication" in str(error):
        return "MongoDB asks for a user, and MONGO_URI names none: mongodb://user:password@host[:port]/…"
    if error.code == UNAUTHORIZED:
        return (
            f"The user of MONGO_URI may not write into the database {name!r}. Give it the role readWrite:"
            f' db.grantRolesToUser("USER", [{{role: "readWrite", db: "{name}"}}])'
        )
    return f"MongoDB is not usable: {explain(error)}"
