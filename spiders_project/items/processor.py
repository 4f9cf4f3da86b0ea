"""Runs the item pipelines, and tells them where their item comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.pipelines import ItemPipelineManager

from spiders_project.delivery import current_origin, origins_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class DeliveringItemProcessor(ItemPipelineManager):
    """Scrapy's item processor (``ITEM_PROCESSOR``) with each item's origin in ``current_origin``."""

    def __init__(self, *middlewares: Any, crawler: Crawler) -> None:
        super().__init__(*middlewares, crawler=crawler)
        self._origins = origins_of(crawler)

    async def process_item_async(self, item: Any) -> Any:
        """Run the pipelines over one item.

        Raises:
            DropItem: A pipeline dropped it.
        """
        token = current_origin.set(self._origins.take(item))
        try:
            return await super().process_item_async(item)
        finally:
            current_origin.reset(token)
