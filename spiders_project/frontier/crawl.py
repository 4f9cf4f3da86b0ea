"""One crawl as a tool sees it: no worker, but somebody who looks and lends a hand while workers run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from spiders_project.frontier import scripts
from spiders_project.frontier.connection import translated
from spiders_project.frontier.contract import Terms
from spiders_project.frontier.redis_frontier import packed_terms

if TYPE_CHECKING:
    import redis

    from spiders_project.keys import Keys

#: Who calls the scripts, where a worker's id would stand.
OPERATOR = "operator"


@dataclass(frozen=True)
class Crawl:
    """Where a crawl is, and by what terms its requests are queued.

    Attributes:
        client: A blocking client with ``decode_responses`` off.
        keys: The crawl's keys.
        terms: As its workers have them (``terms.terms_of``); only verbs that queue requests or free hosts need them.
    """

    client: redis.Redis
    keys: Keys
    terms: Terms = field(default_factory=Terms)

    def run(self, script: str, *arguments: bytes | str | int) -> Any:
        """Run a script of the frontier in one atomic step.

        Raises:
            FrontierUnavailable: Redis does not answer, or takes no writes for now.
            FrontierError: Redis refuses.
        """
        head = (self.keys.namespace, OPERATOR, packed_terms(self.terms))
        with translated():
            return scripts.run_blocking(self.client, script, self.keys.requests, (*head, *arguments))

    def now(self) -> float:
        """Redis's clock, in unix seconds."""
        with translated():
            # By a script, since on Redis Cluster TIME asks every node.
            answer: Any = self.client.eval("return redis.call('TIME')", 1, self.keys.requests)
        seconds, micros = answer
        return int(seconds) + int(micros) / 1e6
