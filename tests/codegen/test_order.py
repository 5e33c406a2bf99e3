"""A run's order: what comes again and again stands in its table once."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from codegen.c.order import Period, find_period, run_order
from codegen.c.printer import Printer
from codegen.c.tree import ForLoop, FunctionDefinition, If, Number
from codegen.c.tree_walk import walk

PROLOGUE, PERIOD, EPILOGUE = (0, 0, 0, 1, 0, 0, 1, 2), (0, 0, 1, 2), (1, 2, 2)
PIPELINE = (*PROLOGUE, *PERIOD * 20, *EPILOGUE)


def test_a_pipeline_is_a_beginning_a_period_and_an_end() -> None:
    found = find_period(PIPELINE)
    assert found == Period(first=4, length=4, count=21)  # the beginning ends with what comes again
    assert (*PIPELINE[:8], *PIPELINE[88:]) == (*PROLOGUE, *EPILOGUE)


@pytest.mark.parametrize(
    "order", [(0, 1), (0, 0, 1, 0, 1, 1), (0, 1) * 8, tuple(range(100))], ids=lambda o: str(len(o))
)
def test_what_saves_too_little_is_not_a_period(order: Sequence[int]) -> None:
    assert find_period(order) is None


def steps_of(walk_function: FunctionDefinition, table: Sequence[int]) -> list[int]:
    """Which layers the function computes, as its loop goes over the table."""
    (loop,) = (stmt for stmt in walk(walk_function.body) if isinstance(stmt, ForLoop))
    (again,) = (stmt for stmt in loop.body if isinstance(stmt, If))
    last, _, rows, back = (n.value for n in walk(again) if isinstance(n, Number))
    found: list[int] = []
    i = 0
    while i < len(table):
        found.append(table[i])
        if i == last and found.count(table[i]) < rows:
            i -= back
        i += 1
    return found


@pytest.mark.parametrize("order", [PIPELINE, PERIOD * 30 + EPILOGUE, PROLOGUE + (0, 1, 2) * 30], ids=len)
def test_the_table_gives_the_order_again(order: tuple[int, ...]) -> None:
    (table,) = run_order(order, frozenset()).tables
    assert len(table.table.numbers) < len(order)
    assert steps_of(table.walk, table.table.numbers) == list(order)


def test_the_table_says_what_comes_how_often() -> None:
    (table,) = run_order(PIPELINE, frozenset()).tables
    assert Printer().statements([table.table], 0) == [
        "static const uint8_t order_0[11] = {",
        "    0, 0, 0, 1,",
        "    /* 21 times */",
        "    0, 0, 1, 2,",
        "    /* once */",
        "    1, 2, 2,",
        "};",
    ]


def test_a_period_may_begin_with_the_first_step_without_an_unsigned_number_below_zero() -> None:
    """clang's check of integers reports an unsigned number that leaves its range, though C defines that."""
    for order in (PERIOD * 20 + EPILOGUE, PIPELINE):
        (table,) = run_order(order, frozenset()).tables
        (loop,) = (stmt for stmt in walk(table.walk.body) if isinstance(stmt, ForLoop))
        assert loop.c_type == "int32_t"
