"""The changes that are tried: each is one place of the code, can be read, and is known by its text."""

import json

import pytest
from code_changes import changes_in
from equal_changes import REASONS
from mutants_table import ROOMS, possible, selected
from try_changes import Verdict, store

from codegen.version import VERSION

CASES = {
    "if a < b:\n    pass": ["if a < b:  ->  if a <= b:"],
    "if a not in b:\n    pass": ["if a not in b:  ->  if a in b:"],
    "x = a - b": ["x = a - b  ->  x = a + b"],
    "x = a and b": ["x = a and b  ->  x = a or b"],
    "x = not a": ["x = not a  ->  x = a"],
    "x = min(a, b)": ["x = min(a, b)  ->  x = max(a, b)"],
    "x = True": ["x = True  ->  x = False"],
    "LIMIT = 280": ["LIMIT = 280  ->  LIMIT = 28"],
    "x = 0.5": ["x = 0.5  ->  x = 0.05"],
    "x = 0.0": [],
    "x = 3\nx = 3": ["x = 3  ->  x = 4", "x = 3  ->  x = 4  (no. 2)"],
    "x = 'ü' if a == b else c": ["x = 'ü' if a == b else c  ->  x = 'ü' if a != b else c"],
    # What only tells, types and assertions:
    "x: Literal[3]": [],
    "assert a < b": [],
    "raise E(f'{a + b}')": [],
    "x = f'{a + b}'": [],
    "@cache(4)\ndef f(a: L[3]) -> L[4]:\n    pass": [],
    "def f(a=3):\n    pass": ["def f(a=3):  ->  def f(a=4):"],
}


@pytest.mark.parametrize(("text", "expected"), CASES.items())
def test_the_changes_of_a_piece_of_code(text, expected, tmp_path):
    path = tmp_path / "code.py"
    path.write_text(f'"""Ein Stück."""\n{text}\n', encoding="utf-8")
    changes = changes_in(path)
    assert [change.text for change in changes] == expected
    for change in changes:
        compile(change.changed(), "changed", "exec")


@pytest.mark.parametrize("room", ROOMS)
def test_as_many_changes_as_are_stated_are_tried_in_each_room(room):
    changes = selected(ROOMS[room])
    constants = sum(change.is_named_constant for change in changes)
    assert constants == 0 or ROOMS[room].with_constants
    assert len(changes) - constants == ROOMS[room].number
    assert len({(change.path, change.text) for change in changes}) == len(changes)


@pytest.mark.slow
def test_at_least_two_hundred_changes_are_tried():
    assert sum(len(selected(room)) for room in ROOMS.values()) >= 200


@pytest.mark.slow
def test_what_has_a_reason_to_survive_is_still_there():
    there = {change.text for room in ROOMS.values() for change in possible(room)}
    assert not [text for text in REASONS if text not in there]


def test_scores_are_written_by_room_and_others_stay(tmp_path):
    path = tmp_path / "code.py"
    path.write_text("x = a - b\ny = a < b\n")
    first, second = changes_in(path)
    scores = tmp_path / "scores.json"
    scores.write_text('{"line": {"changes": 1}}\n')
    store([Verdict("checker", first, "tests/a.py::test_a"), Verdict("checker", second, "")], scores)
    assert json.loads(scores.read_text()) == {
        "checker": {
            "solder": VERSION,
            "possible": len(possible(ROOMS["checker"])),
            "changes": 2,
            "seen": 1,
            "with_reason": 0,
            "survivors": ["code.py: y = a < b  ->  y = a <= b"],
        },
        "line": {"changes": 1},
    }
