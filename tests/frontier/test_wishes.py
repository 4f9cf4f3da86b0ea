"""What one worker remembers of the wishes of hosts; how the gate heeds them is in test_gate.py."""

import asyncio

from spiders_project.frontier.contract import HostLimits
from spiders_project.frontier.wishes import MOST_DELAYS, Wishes


def test_a_bounded_number_of_delays_is_remembered_and_the_oldest_go_first():
    async def main():
        said = []
        wishes = Wishes(lambda host: HostLimits(), said.append)
        for number in range(MOST_DELAYS + 10):
            wishes.slow(str(number), 1)
        assert [number for number in range(MOST_DELAYS + 10) if not wishes.delay_ms(str(number))] == list(range(10))
        assert len(said) == MOST_DELAYS + 10, "Redis remembers all"

    asyncio.run(main())
