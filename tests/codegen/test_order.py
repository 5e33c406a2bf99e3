"""A run's order: a loop of steps wherever such a loop gives it, else a table that has what repeats once."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from codegen.c.order import LayerCalls, Order, Period, find_period, find_pipeline, run_order
from codegen.c.printer import Printer
from codegen.c.tree import (
    Define,
    Do,
    Expr,
    ForLoop,
    FunctionCall,
    FunctionDefinition,
    If,
    Infix,
    Linear,
    Name,
    Number,
    Postfix,
    Prefix,
    Stmt,
    Subscript,
    SwitchStatement,
)

PROLOGUE, PERIOD, EPILOGUE = (0, 0, 0, 1, 0, 0, 1, 2), (0, 0, 1, 2), (1, 2, 2)
PIPELINE = (*PROLOGUE, *PERIOD * 20, *EPILOGUE)
IRREGULAR = (0, 0, 0, 1, *(0, 0, 1, 2) * 20, 2, 1, 1)  # the last rows come in another order


def test_a_pipeline_is_a_beginning_a_period_and_an_end():
    found = find_period(PIPELINE)
    assert found == Period(first=4, length=4, count=21)  # the beginning ends with what comes again
    assert (*PIPELINE[:8], *PIPELINE[88:]) == (*PROLOGUE, *EPILOGUE)


@pytest.mark.parametrize(
    "order", [(0, 1), (0, 0, 1, 0, 1, 1), (0, 1) * 8, tuple(range(100))], ids=lambda o: str(len(o))
)
def test_what_saves_too_little_is_not_a_period(order):
    assert find_period(order) is None


LAYERS = LayerCalls(("a", "b", "c", "d"), frozenset())


class Runner:
    """Runs the C of an order, and notes the rows that it computes."""

    def __init__(self, order: Order) -> None:
        functions = (function for part in order.parts for function in part.functions)
        self.functions: Mapping[str, FunctionDefinition] = {each.name: each for each in functions}
        tables = (part.table for part in order.parts if part.table is not None)
        self.known: dict[str, Any] = {table.name: table.numbers for table in tables}
        self.rows: list[tuple[str, int]] = []
        self.run(order.body, {})

    def run(self, body: Sequence[Stmt], known: dict[str, Any]) -> None:
        for stmt in body:
            match stmt:
                case Define(variable, value):
                    counters = variable.length is not None
                    known[variable.name] = Counter[int]() if counters else self.value(value, known)
                case ForLoop(_, var, Number(end), inner, _, first):
                    begin = first.constant.value if isinstance(first, Linear) else 0  # type: ignore[union-attr]
                    for turn in range(begin, end):
                        self.run(inner, {**known, var: turn})
                case If(condition, then):
                    self.run(then if self.value(condition, known) else (), known)
                case SwitchStatement(value, cases):
                    self.run(dict(cases)[self.value(value, known)], known)
                case Do(FunctionCall(name, arguments)) if name in self.functions:
                    called = self.functions[name]
                    given = [self.value(each, known) for each in arguments]
                    self.run(called.body, dict(zip((p.name for p in called.params), given, strict=True)))
                case Do(FunctionCall(name, (_, row))):
                    self.rows.append((name, self.value(row, known)))
                case _:
                    raise AssertionError(stmt)

    def value(self, expr: Expr, known: dict[str, Any]) -> Any:
        match expr:
            case Name(name):
                return known.get(name, self.known.get(name))
            case Number(value):
                return value
            case Infix(op, left, right):
                one, other = self.value(left, known), self.value(right, known)
                calls = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__, "==": int.__eq__}
                calls |= {"<": int.__lt__, ">=": int.__ge__, "&&": lambda a, b: a and b}
                found = calls[op](one, other)
                assert found >= 0, f"{expr} is below zero, where clang's check of integers reports it"
                return found
            case Subscript(base, index):
                return self.value(base, known)[self.value(index, known)]
            case Postfix(Subscript(base, index), "++"):
                counters, place = self.value(base, known), self.value(index, known)
                counters[place] += 1
                return counters[place] - 1
            case Prefix("&"):
                return None
        raise AssertionError(expr)


def rows_of(order: Sequence[int]) -> Iterator[tuple[str, int]]:
    """Each layer's rows as the plan has them."""
    done = Counter[int]()
    for stage in order:
        yield LAYERS.functions[stage], done[stage]
        done[stage] += 1


@pytest.mark.parametrize(
    "order",
    [
        PIPELINE,
        IRREGULAR,
        PERIOD * 30 + EPILOGUE,
        PROLOGUE + (0, 1, 2) * 30,
        (0, 1) * 8,
        (0, 1, 2, 3),
        (0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1),  # nothing comes twice in a row, but it is a loop
        (0, 0, 1, 1, 0, 2, 1, 3, 2, 3, 3),  # it is none
    ],
    ids=len,
)
def test_the_c_computes_the_rows_in_the_planned_order(order):
    assert Runner(run_order(order, LAYERS)).rows == list(rows_of(order))


def test_a_pipeline_is_a_loop_of_steps():
    (part,) = run_order(PIPELINE, LAYERS).parts
    assert part.table is None
    (function,) = part.functions
    assert Printer().function(function).splitlines()[1:] == [
        "static LAYER void compute_to_c(const struct run *run)",
        "{",
        "    for (uint32_t step = 0; step < 25u; ++step) {",
        "        if (step >= 1u && step < 23u) {",
        "            a(run, step * 2u - 1u);",
        "        }",
        "        if (step < 23u) {",
        "            a(run, step * 2u);",
        "        }",
        "        if (step >= 1u && step < 24u) {",
        "            b(run, step - 1u);",
        "        }",
        "        if (step >= 2u) {",
        "            c(run, step - 2u);",
        "        }",
        "    }",
        "}",
    ]


def test_an_order_that_no_loop_gives_is_a_table_with_its_period_once():
    assert find_pipeline(IRREGULAR) is None
    (part,) = run_order(IRREGULAR, LAYERS).parts
    assert part.table is not None
    assert Printer().statements([part.table], 0) == [
        "static const uint8_t order_to_b[11] = {",
        "    0, 0, 0, 1,",
        "    /* 20 times */",
        "    0, 0, 1, 2,",
        "    /* once */",
        "    2, 1, 1,",
        "};",
    ]
    assert "i -=" not in "\n".join(map(Printer().function, part.functions))
