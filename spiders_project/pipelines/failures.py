"""What to do about an error of MongoDB: wait and try again, or set the one document aside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pymongo.errors import (
    AutoReconnect,
    BulkWriteError,
    ConnectionFailure,
    ExecutionTimeout,
    NetworkTimeout,
    OperationFailure,
    PyMongoError,
    WaitQueueTimeoutError,
    WriteConcernError,
    WriteError,
    WTimeoutError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

UNAUTHORIZED = 13
AUTHENTICATION_FAILED = 18
DUPLICATE_KEY = 11000
BAD_VALUE = 2
UNKNOWN_WRITE_CONCERN = 79
UNSATISFIABLE_WRITE_CONCERN = 100

#: Codes of errors that say something about the server's state and nothing about the document.
PASSING_CODES = frozenset(
    {
        6,  # HostUnreachable
        7,  # HostNotFound
        UNAUTHORIZED,  # a role was taken away in the middle of a crawl: the operator can give it back
        AUTHENTICATION_FAILED,
        24,  # LockTimeout
        46,  # LockBusy
        50,  # MaxTimeMSExpired
        63,  # StaleShardVersion
        64,  # WriteConcernFailed
        UNKNOWN_WRITE_CONCERN,
        89,  # NetworkTimeout
        91,  # ShutdownInProgress
        UNSATISFIABLE_WRITE_CONCERN,
        112,  # WriteConflict
        133,  # FailedToSatisfyReadPreference
        150,  # StaleEpoch
        189,  # PrimarySteppedDown
        202,  # NetworkInterfaceExceededTimeLimit
        262,  # ExceededTimeLimit
        365,  # TemporarilyUnavailable
        9001,  # SocketException
        10058,  # LegacyNotPrimary
        10107,  # NotWritablePrimary
        11600,  # InterruptedAtShutdown
        11601,  # Interrupted
        11602,  # InterruptedDueToReplStateChange
        13388,  # StaleConfig
        13435,  # NotPrimaryNoSecondaryOk
        13436,  # NotPrimaryOrSecondary
        14031,  # OutOfDiskSpace
    }
)
#: What a service in front of the servers says of its quotas and limits, though it says it of a document.
SERVICE_CODES = frozenset({96, 8000})  # OperationFailed, AtlasError


class CannotWrite(Exception):  # noqa: N818 - the state that the worker waits out; never leaves the pipelines
    """MongoDB takes no write at all, whatever is in it; the text says why."""


def is_passing(error: Exception) -> bool:
    """Whether the same call may succeed later, without a change of what is written."""
    if isinstance(
        error,
        CannotWrite
        | AutoReconnect
        | ConnectionFailure
        | ExecutionTimeout
        | NetworkTimeout
        | WaitQueueTimeoutError
        | WriteConcernError
        | WTimeoutError,
    ):
        return True
    if isinstance(error, BulkWriteError):
        # Written, but not where the write concern wants it, does not count as stored yet.
        return bool(error.details["writeConcernErrors"]) or any(
            one["code"] in PASSING_CODES | SERVICE_CODES for one in error.details["writeErrors"]
        )
    if isinstance(error, OperationFailure):
        return error.code in PASSING_CODES or error.has_error_label("RetryableWriteError")
    return isinstance(error, PyMongoError) and error.timeout


def is_id_conflict(error: Mapping[str, Any]) -> bool:
    """Whether a write error of a bulk says that another worker wrote the same document at the same time."""
    if error.get("code") != DUPLICATE_KEY:
        return False
    pattern = error.get("keyPattern")
    return "_id" in pattern if pattern else "index: _id_ " in error.get("errmsg", "")


def is_of_command(error: Exception) -> bool:
    """Whether MongoDB has refused a whole command, and said nothing of a document in it."""
    return isinstance(error, OperationFailure) and not isinstance(error, BulkWriteError | WriteError)


def is_curable_upsert(error: Exception) -> bool:
    """Whether upserts may succeed when they are repeated: also when another worker inserted the same at once.

    Only for upserts of documents that no refusal of a whole command can be about: small ones of our own making.
    """
    if isinstance(error, BulkWriteError) and not is_passing(error):
        return all(is_id_conflict(one) for one in error.details["writeErrors"])
    return is_passing(error) or is_of_command(error)


def explain(error: Exception) -> str:
    """What happened, in one line, for the log. Errors of pymongo name hosts and never credentials."""
    text = str(error).split(", full error:", maxsplit=1)[0].split(" (configured timeouts:", maxsplit=1)[0]
    text = text.split(", Timeout:", maxsplit=1)[0]
    if isinstance(error, CannotWrite):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
