"""Signals that this project sends beside Scrapy's."""

#: A run of the crawl has ended; sent by one worker, with ``run`` (a ``run_records.EndedRun``) and ``spider``. Handlers
#: may be coroutine functions. Sent again only when the worker died before all of them returned, or one of them failed.
run_ended = object()
