"""What --tasks takes: numbers and ranges upwards, of tasks that there are."""

from __future__ import annotations

import pytest
from error_facts import refused

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
    ("text", "facts"),
    [
        ("3-1", '"3-1": 3-1 1-3'),
        ("6", "no task 6 1 to 5; deploy tune --list"),
        ("6-", "no task 6 1 to 5; deploy tune --list"),
        ("0-", "no task 0 1 to 5; deploy tune --list"),
        ("4-7", "no task 6 1 to 5; deploy tune --list"),
        *((text, f'"{text}" not a list like 1,3-5 or 2- 1 to 5') for text in ("x", "-2", "1,,2", "1-2-3")),
    ],
)
def test_anything_else_is_refused_with_the_way_out(text: str, facts: str) -> None:
    refused(lambda: task_numbers(text, 5), facts, InputError)
