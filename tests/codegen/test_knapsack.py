"""The most valuable choice against all choices that there are."""

from __future__ import annotations

from itertools import chain, combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegen.fit.placed_constants import most_valuable

THINGS = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 50)), max_size=7)


def best(things: list[tuple[int, int]], room: int) -> int:
    every = chain.from_iterable(combinations(things, n) for n in range(len(things) + 1))
    return max(sum(v for _, v in some) for some in every if sum(4 * s for s, _ in some) <= room)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(things=THINGS, room=st.integers(0, 120))
def test_no_other_choice_that_fits_is_worth_more(things: list[tuple[int, int]], room: int) -> None:
    chosen = most_valuable([4 * size for size, _ in things], [value for _, value in things], room)
    assert list(chosen) == sorted(set(chosen))
    assert sum(4 * things[n][0] for n in chosen) <= room
    assert sum(things[n][1] for n in chosen) == best(things, room)


def test_by_the_byte_is_not_always_best() -> None:
    """The densest thing would keep out two that are worth more together."""
    assert most_valuable([24, 20, 20], [13, 10, 10], 40) == (1, 2)


def test_in_a_large_room_sizes_are_rounded_up() -> None:
    room = 8 << 20  # bytes: units of 128
    assert most_valuable([room - 128, 129], [9, 1], room) == (0,)
    assert most_valuable([room - 256, 129], [9, 1], room) == (0, 1)


def test_a_room_is_measured_by_its_65536th() -> None:
    """Finer, two of them would fit; a table of so many columns for each layer is what a search may take."""
    room = 8 << 20  # bytes: units of 128
    assert most_valuable([room - 192, 129, room], [9, 1, 1], room) == (0,)
    assert most_valuable([room - 256, 128, room], [9, 1, 1], room) == (0, 1)
