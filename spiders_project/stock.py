"""Settings of Scrapy whose values are checked, because a typo in them would surface in the middle of a crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, Field

from spiders_project.settingtypes import (
    MODEL,
    Count,
    Flag,
    JsonObject,
    Positive,
    RedisUrl,
    Seconds,
    SeedsKey,
    Statuses,
    Whole,
    Words,
    validated,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


class _Settings(BaseModel):
    """Settings of Scrapy and scrapy-redis whose values are checked; they keep their defaults and meaning."""

    model_config = MODEL

    concurrent_items: Positive | None = None
    concurrent_requests: Count | None = None  # 0: no limit, as in Scrapy
    concurrent_requests_per_domain: Count | None = None  # 0: no limit, on the frontier
    closespider_errorcount: Count | None = None
    closespider_itemcount: Count | None = None
    closespider_pagecount: Count | None = None
    closespider_timeout: Seconds | None = None
    depth_limit: Count | None = None
    depth_priority: Whole | None = None
    download_delay: Seconds | None = None
    download_delay_jitter: Annotated[float, Field(ge=0, le=1)] | None = None
    download_maxsize: Count | None = None
    download_timeout: Annotated[Seconds, Field(gt=0)] | None = None
    download_warnsize: Count | None = None
    concurrent_requests_per_ip: Count | None = None
    dupefilter_debug: Flag | None = None
    log_level: Literal["CRITICAL", "ERROR", "WARNING", "WARN", "INFO", "DEBUG", "NOTSET"] | Count | None = None
    max_idle_time_before_close: Count | None = None
    redirect_max_times: Count | None = None
    redis_db: Count | None = None
    redis_host: str | None = None
    redis_params: JsonObject | None = None
    redis_port: Annotated[Whole, Field(ge=1, le=65535)] | None = None
    redis_sentinel_params: JsonObject | None = None
    redis_sentinel_service: str | None = None
    redis_sentinels: Words | None = None
    redis_start_urls_key: SeedsKey | None = None
    redis_start_urls_as_set: Flag | None = None
    redis_start_urls_as_zset: Flag | None = None
    redis_url: RedisUrl | None = None
    retry_http_codes: Statuses | None = None
    retry_priority_adjust: Whole | None = None
    retry_times: Count | None = None
    robotstxt_obey: Flag | None = None
    scheduler_debug: Flag | None = None
    scheduler_flush_on_start: Flag | None = None
    scheduler_persist: Flag | None = None
    urllength_limit: Count | None = None


def check_stock(settings: Mapping[str, Any]) -> None:
    """Check the values of Scrapy's and scrapy-redis's settings.

    Raises:
        ConfigError: A value is malformed or out of bounds; names the setting.
    """
    validated(_Settings, settings)
