"""Going back: the content of an earlier version, released again under a name that sorts last.

Nothing is deleted for it, so jobs of the version that is left run on, and whoever schedules without ``_version``
gets the old code at once, because Scrapyd runs what sorts last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deploy.errors import DeployError
from deploy.version_names import origin, time_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def version_before(held: Mapping[str, Sequence[str]], times: Mapping[str, float], current: str) -> str:
    """The release before the one whose content ``current`` has; a second rollback so goes back one further.

    Args:
        held: The versions on each node.
        times: When each version was released, in unix seconds; those without a time are never chosen.
        current: The newest release.

    Raises:
        DeployError: There is none on the nodes.
    """
    known = {version for of_node in held.values() for version in of_node if version in times}
    limit = times.get(origin(current)) or time_of(origin(current)) or times.get(current, 0.0)
    earlier = [version for version in known if times[version] < limit and origin(version) == version]
    if not earlier:
        raise DeployError(f"no node holds a release before {origin(current)}: name the version to go back to")
    return max(earlier, key=lambda version: (times[version], version))
