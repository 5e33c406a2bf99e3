"""What --tasks takes: numbers and ranges upwards, of tasks that there are."""

from __future__ import annotations

import pytest

from aot.errors import InputError
from deploy.tuning import task_numbers


def test_numbers_and_ranges_are_taken_in_order() -> None:
    assert task_numbers("4,1-2", 5) == [1, 2, 4]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("3-1", 'error: tasks "3-1": 3-1 counts downwards\n  hint: write 1-3'),
        ("6", "error: there is no task 6\n  hint: there are tasks 1 to 5; deploy tune --list"),
        ("x", 'error: tasks "x" are no numbers such as 1,3-5\n  hint: there are tasks 1 to 5'),
    ],
)
def test_anything_else_is_refused_with_the_way_out(text: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        task_numbers(text, 5)
    assert str(refused.value) == said
