"""What --tasks takes: numbers and ranges upwards, of tasks that there are."""

from __future__ import annotations

import pytest

from aot.errors import InputError
from deploy.tuner.tune_model import task_numbers


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("4,1-2", [1, 2, 4]),
        ("2-", [2, 3, 4, 5]),
        ("1, 4 -", [1, 4, 5]),
        ("5-", [5]),
        ("3,3-4", [3, 4]),
    ],
)
def test_numbers_and_ranges_are_taken_in_order(text: str, numbers: list[int]) -> None:
    assert task_numbers(text, 5) == numbers


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("3-1", 'error: tasks "3-1": 3-1 counts down\n  hint: write 1-3'),
        ("6", "error: there is no task 6\n  hint: tasks: 1 to 5; deploy tune --list"),
        ("6-", "error: there is no task 6\n  hint: tasks: 1 to 5; deploy tune --list"),
        ("0-", "error: there is no task 0\n  hint: tasks: 1 to 5; deploy tune --list"),
        ("4-7", "error: there is no task 6\n  hint: tasks: 1 to 5; deploy tune --list"),
        ("x", 'error: tasks "x" is not a list like 1,3-5 or 2-\n  hint: tasks: 1 to 5'),
        ("-2", 'error: tasks "-2" is not a list like 1,3-5 or 2-\n  hint: tasks: 1 to 5'),
        ("1,,2", 'error: tasks "1,,2" is not a list like 1,3-5 or 2-\n  hint: tasks: 1 to 5'),
        ("1-2-3", 'error: tasks "1-2-3" is not a list like 1,3-5 or 2-\n  hint: tasks: 1 to 5'),
    ],
)
def test_anything_else_is_refused_with_the_way_out(text: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        task_numbers(text, 5)
    assert str(refused.value) == said
