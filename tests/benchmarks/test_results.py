"""The rows as programs read them."""

import json

import jsonschema
import pytest

from benchmarks.figures import Figure
from benchmarks.results import Row, holds, write_json

NUMBER_OR_NULL = {"type": ["number", "null"]}
TEXT_OR_NULL = {"type": ["string", "null"]}
ROW = {
    "name": {"type": "string"},
    "value": {"type": "number"},
    "unit": {"type": "string"},
    "min": {"type": "number"},
    "max": {"type": "number"},
    "peer": TEXT_OR_NULL,
    "peer_value": NUMBER_OR_NULL,
    "budget": TEXT_OR_NULL,
    "ok": {"type": "boolean"},
}
SCHEMA = {
    "type": "object",
    "required": ["machine", "versions", "rows"],
    "additionalProperties": False,
    "properties": {
        "machine": {"type": "object"},
        "versions": {"type": "object"},
        "rows": {
            "type": "array",
            "items": {"type": "object", "required": list(ROW), "additionalProperties": False, "properties": ROW},
        },
    },
}


@pytest.mark.parametrize(
    ("value", "budget", "is_held"),
    [
        (0.95, "≥ 0.95", True),
        (0.94, "≥ 0.95", False),
        (330, "≤ 330", True),
        (331, "≤ 330", False),
        (0, "= 0", True),
        (1, "= 0", False),
    ],
)
def test_a_budget_holds_at_its_bound_and_not_beyond(value, budget, is_held):
    assert holds(value, budget) is is_held


@pytest.mark.parametrize("budget", ["0.95", "> 1", ""])
def test_a_budget_that_says_nothing_is_refused(budget):
    with pytest.raises(ValueError, match="a budget is written as"):
        holds(1, budget)


def test_a_row_whose_sides_did_different_work_is_not_ok_whatever_it_measured():
    assert Row.of("a: b", 3.0, "times", budget="≥ 2").ok
    assert not Row.of("a: b", 3.0, "times", budget="≥ 2", valid=False).ok
    assert not Row.of("a: b", 3.0, "times", valid=False).ok


def test_the_file_has_machine_versions_and_rows_of_the_agreed_fields(tmp_path):
    rows = [
        Row.of("a: b", Figure(1.0, 0.5, 2.0), "pages/s"),
        Row.of("a: c", 3.0, "times", peer="x", peer_value=1, budget="≥ 2"),
    ]
    path = tmp_path / "results" / "latest.json"
    write_json(path, {"cores": 2}, {"python": "3.11"}, rows, ["other programs took 1.5 cores"])
    document = json.loads(path.read_text())
    jsonschema.validate(document, SCHEMA)
    assert document["machine"] == {"cores": 2, "disturbances": ["other programs took 1.5 cores"]}
    assert document["rows"][0] == {
        "name": "a: b",
        "value": 1.0,
        "unit": "pages/s",
        "min": 0.5,
        "max": 2.0,
        "peer": None,
        "peer_value": None,
        "budget": None,
        "ok": True,
    }
    assert list(path.parent.iterdir()) == [path], "no half-written file is left"
