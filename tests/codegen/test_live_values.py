"""The values that a function has in use at once: those of loops stay, those of blocks go."""

from __future__ import annotations

import pytest

from codegen.c.live_values import LiveValues, live_values
from codegen.c.tree import (
    Assign,
    Braces,
    DeclareVariables,
    Do,
    ForLoop,
    FunctionCall,
    FunctionDefinition,
    InstructionCall,
    Name,
    Number,
    Stmt,
    TypedName,
)
from codegen.loops.ir import Instruction

X, Y = TypedName("const int8_t *", "x"), TypedName("int8_t *", "y")


def values(*body: Stmt) -> LiveValues:
    return live_values(FunctionDefinition("static void", "kernel", (X, Y), body))


def use(*names: str) -> Stmt:
    return Do(FunctionCall("use", tuple(Name(name) for name in names)))


def declare(c_type: str, *names: str) -> Stmt:
    return DeclareVariables(c_type, names, 4)


def assembly(*outside: str) -> Stmt:
    helper = Instruction("dot", (), (), "dot()", "", is_asm=True, own_registers=2)
    return InstructionCall("dot", "dot()", tuple((name, Name(name)) for name in outside), helper)


A, B = Assign(Name("a"), Number(1)), Assign(Name("b"), Number(2))
LOOPED = (use("a"), B, use("b", "x", "y"))
CASES = {
    "parameters": ((use("x", "y"),), (2, 0, 0)),
    "what is never mentioned is never in use": ((declare("int32_t", "a"), use("x", "y")), (2, 0, 0)),
    "from the first mention to the last": (
        (declare("int32_t", "a", "b"), A, use("a"), B, use("b", "x")),
        (2, 0, 0),
    ),
    "both at once": ((declare("int32_t", "a", "b"), A, B, use("a", "b", "x", "y")), (4, 0, 0)),
    "through a whole loop that it comes into": (
        (
            declare("int32_t", "a", "b"),
            A,
            ForLoop("int32_t", "i", Number(4), (use("a"), B, use("b", "x", "y"))),
        ),
        (5, 0, 0),
    ),
    "each block its own": (
        tuple(Braces((declare("int32_t", "a", "b"), A, B, use("a", "b"))) for _ in range(3)),
        (2, 0, 0),
    ),
    "reals apart": ((declare("float", "a", "b"), A, B, use("a", "b", "x")), (2, 2, 0)),
    "vectors apart": ((declare("int8x16_t", "a"), A, use("a", "x", "y")), (2, 0, 1)),
    "what assembly works in": ((declare("int32_t", "a"), A, assembly("a"), use("x", "y")), (5, 0, 0)),
}


@pytest.mark.parametrize("name", CASES)
def test_values_in_use_are_counted(name: str) -> None:
    body, (whole, floats, vectors) = CASES[name]
    assert values(*body) == LiveValues(whole, floats, vectors)
