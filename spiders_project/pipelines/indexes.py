"""The indexes that item classes ask for: made beside the crawl, and never in its way."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from pymongo import ASCENDING, DESCENDING, IndexModel
from pymongo.errors import OperationFailure, PyMongoError

from spiders_project import statnames
from spiders_project.pipelines.failures import explain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pymongo.asynchronous.collection import AsyncCollection

    from spiders_project.pipelines.patience import Patience

logger = logging.getLogger(__name__)

INDEX_OPTIONS_CONFLICT = 85
INDEX_KEY_SPECS_CONFLICT = 86


def index_model(declared: IndexModel | str | tuple[str, ...]) -> IndexModel:
    """An index as a class declares it: a field, several fields (``-`` before one: descending), or a model."""
    if isinstance(declared, IndexModel):
        return declared
    names = (declared,) if isinstance(declared, str) else declared
    return IndexModel([(name.removeprefix("-"), DESCENDING if name.startswith("-") else ASCENDING) for name in names])


async def ensure_indexes(
    collection: AsyncCollection[dict[str, Any]],
    models: Iterable[IndexModel],
    patience: Patience,
    count: Callable[[str, int], None],
) -> None:
    """Make the indexes that do not exist yet; MongoDB builds them while the collection is in use.

    One that cannot be made is reported and counted (``mongo/index_errors``), and the crawl goes on.
    """
    for model in models:
        if problem := await _problem(collection, model, patience):
            count(statnames.INDEX_ERRORS, 1)
            logger.error(
                "The index %(index)s of %(collection)s cannot be made: %(why)s",
                {"index": model.document["name"], "collection": collection.name, "why": problem},
            )


async def _problem(collection: AsyncCollection[dict[str, Any]], model: IndexModel, patience: Patience) -> str | None:
    try:
        await patience(f"index {collection.name}", lambda: collection.create_indexes([model]))
    except PyMongoError as error:
        return explain(error) + _remedy(error, collection.name, model.document["name"])
    return None


def _remedy(error: PyMongoError, collection: str, index: str) -> str:
    if isinstance(error, OperationFailure) and error.code in (
        INDEX_OPTIONS_CONFLICT,
        INDEX_KEY_SPECS_CONFLICT,
    ):
        return (
            ". Another index stands in its way: drop that one if it is not yours"
            f' (db.{collection}.getIndexes(), db.{collection}.dropIndex("{index}")), or declare it as it is.'
        )
    return ""
