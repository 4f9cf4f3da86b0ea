"""Runs the item pipelines, and tells them where their item comes from."""

from __future__ import annotations

from types import CoroutineType
from typing import TYPE_CHECKING, Any

from scrapy.pipelines import ItemPipelineManager
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.python import global_object_name

from spiders_project.delivery import current_origin, origins_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler


class DeliveringItemProcessor(ItemPipelineManager):
    """Scrapy's item processor (``ITEM_PROCESSOR``) with each item's origin in ``current_origin``.

    It runs them as Scrapy does, but awaits only what has something to wait for: a hundred items of one page
    pass every pipeline a hundred times.
    """

    def __init__(self, *middlewares: Any, crawler: Crawler) -> None:
        super().__init__(*middlewares, crawler=crawler)
        self._origins = origins_of(crawler)
        self._steps = [self._step(method) for method in self.methods["process_item"] if method is not None]

    def _step(self, method: Callable[..., Any]) -> Callable[[Any], Any]:
        if method in self._mw_methods_requiring_spider:
            return lambda item: method(item, self._spider)
        return method

    async def process_item_async(self, item: Any) -> Any:
        """Run the pipelines over one item.

        Raises:
            DropItem: A pipeline dropped it.
        """
        token = current_origin.set(self._origins.take(item))
        try:
            for step in self._steps:
                result = step(item)
                if type(result) is CoroutineType:
                    item = await result
                elif result is not item:
                    item = await ensure_awaitable(result, _warn=global_object_name(step))
            return item
        finally:
            current_origin.reset(token)
