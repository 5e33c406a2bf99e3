"""Variables that are declared and then get their first values are defined with them."""

from __future__ import annotations

import pytest

from codegen.c.printer import Printer
from codegen.c.tree import Assign, DeclareVariables, Do, FunctionCall, Name, Number, Prefix, Stmt

AB, SUM = DeclareVariables("int32_t", ("a", "b"), 4), DeclareVariables("int32_t", ("sum",), 4)


def sets(name: str, value: int | str, op: str = "=") -> Stmt:
    return Assign(Name(name), Number(value) if isinstance(value, int) else Name(value), op)


CALL = Do(FunctionCall("f", (Name("a"),)))


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ((AB, sets("a", 1), sets("b", 2), CALL), ["const int32_t a = 1, b = 2;", "f(a);"]),
        ((AB, sets("b", 2), sets("a", 1)), ["const int32_t a = 1, b = 2;"]),
        ((SUM, sets("sum", 0), sets("sum", 1, "+=")), ["int32_t sum = 0;", "sum += 1;"]),
        (
            (SUM, sets("sum", 0), Do(FunctionCall("f", (Prefix("&", Name("sum")),)))),
            ["int32_t sum = 0;", "f(&sum);"],
        ),
        (
            (AB, SUM, sets("a", 1), sets("b", 2), sets("sum", "a")),
            ["const int32_t a = 1, b = 2;", "const int32_t sum = a;"],
        ),
        ((AB, sets("a", "b"), sets("b", 2)), ["int32_t a, b;", "a = b;", "b = 2;"]),  # b comes after a
        ((AB, sets("a", 1), CALL, sets("b", 2)), ["int32_t a, b;", "a = 1;", "f(a);", "b = 2;"]),
        ((AB, sets("a", 1), sets("a", 2)), ["int32_t a, b;", "a = 1;", "a = 2;"]),
    ],
    ids=[
        "kept",
        "another order",
        "changed",
        "by address",
        "of others",
        "before it is known",
        "late",
        "twice",
    ],
)
def test_first_values_are_in_the_definition(body: tuple[Stmt, ...], lines: list[str]) -> None:
    assert Printer().statements(body, 0) == lines
