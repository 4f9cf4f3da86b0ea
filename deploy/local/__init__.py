"""The embedded stack: real Redis, MongoDB and Scrapyd nodes on loopback, for one machine."""
