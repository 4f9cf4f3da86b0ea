"""The frontier: every request that is not yet done, shared by all workers of a crawl.

Read in this order: ``contract`` (what holds), ``redis_frontier`` and ``lua/`` (how), ``codec`` (the wire
format), ``exchange`` (a worker's side: batches, buffer, back-off), ``heartbeat`` (leases), ``gate`` with ``ticket``,
``wishes`` and ``bookings`` (a host's limits at the downloader), then ``dupefilter``, ``origins`` and ``scheduler``
(where Scrapy comes in). ``inspect`` and ``purge`` are for tools.
"""
