from __future__ import annotations

import threading

from deploy.settling import Settling
from deploy.withdrawals import Withdrawals
from tests.deploy.fake_node import fake_node


def test_withdrawals_are_made_by_the_way_and_not_in_every_round(tmp_path):
    go_on = threading.Event()

    def slow():
        go_on.wait(30)
        return 200, {"status": "ok", "versions": []}

    withdrawals = Withdrawals(tmp_path, None)
    with fake_node({"*": slow}) as fake:
        node = fake.node()
        withdrawals.add(node, "v1", "why")
        settling = Settling([node], withdrawals, every=1000)
        for _ in range(3):
            settling("17")  # returns while the node is still silent
        assert len(withdrawals.all()) == 1
        go_on.set()
        settling.join(30)
        assert withdrawals.all() == []
        settling()
        settling.join(30)
        assert len(fake.asked) == 1
