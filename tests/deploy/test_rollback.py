from __future__ import annotations

import pytest

from deploy.errors import DeployError
from deploy.rollback import version_before

A, B, C = "1796067001-aaaaaaaa", "1796067002-bbbbbbbb", "1796067003-cccccccc"
BACK_TO_B = f"1796067004-back-to-{B}"


def before(*held: str, current: str) -> str:
    times = {version: float(version[:10]) for version in held if version[0] == "1"}
    return version_before({"n1": held[:2], "n2": held}, times, current)


def test_the_release_before_the_newest():
    assert before(A, B, C, "v9", current=C) == B


def test_a_second_rollback_goes_one_further_and_not_back_to_what_was_left():
    assert before(A, B, C, BACK_TO_B, current=BACK_TO_B) == A


def test_the_origin_of_a_rollback_need_not_be_on_a_node_any_more():
    assert before(A, C, BACK_TO_B, current=BACK_TO_B) == A


def test_without_an_earlier_one_the_user_is_asked_to_name_it():
    with pytest.raises(DeployError, match=f"no node holds a release before {A}: name the version"):
        before(A, "v1", current=A)
