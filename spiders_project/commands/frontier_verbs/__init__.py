"""The verbs of ``scrapy frontier``: their arguments, and what they print."""

from spiders_project.commands.frontier_verbs.dead import Dead, Forget, Retry
from spiders_project.commands.frontier_verbs.hold import Pause, Resume
from spiders_project.commands.frontier_verbs.look import Hosts, Status
from spiders_project.commands.frontier_verbs.verb import Task, Verb
from spiders_project.commands.frontier_verbs.whole import Export, Import, Purge

VERBS: dict[str, Verb] = {
    "status": Status(),
    "hosts": Hosts(),
    "dead": Dead(),
    "retry": Retry(),
    "forget": Forget(),
    "pause": Pause(),
    "resume": Resume(),
    "purge": Purge(),
    "export": Export(),
    "import": Import(),
}

__all__ = ["VERBS", "Task", "Verb"]
