"""What a proc looks like in C, and that a compiler finds the same meaning in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from c_checks import failures_on_host
from nests import K, dots, numbered, proc_of
from proc_checks import helpers_of_proc, print_proc, proc_check

from aot.ir.types import DType
from codegen.c.kernel_function import kernel_function
from codegen.loops.affine import variable
from codegen.loops.ir import (
    Accumulate,
    Apply,
    Binary,
    Buffer,
    Cast,
    Const,
    Declare,
    Expr,
    For,
    Index,
    Instruction,
    Proc,
    Role,
    ScalarFunction,
    Store,
    at,
    load,
)
from codegen.loops.schedule import partition, privatize, reorder, split, unroll
from codegen.loops.tensorize import tensorize

X = Buffer("x", DType.I8, 4, Role.INPUT)
Y = Buffer("y", DType.I8, 4, Role.OUTPUT)
TWICE = ScalarFunction(
    "twice", DType.I32, "static inline int32_t twice(int32_t v)\n{\n    return v * 2;\n}\n", lambda v: v * 2
)
TOTAL = Buffer("total", DType.I32, 1, Role.LOCAL)
A, B = Buffer("a", DType.I8, 0, Role.INPUT), Buffer("b", DType.I8, 0, Role.CONSTANT)
N = variable("n")
MAC2 = Instruction(
    "mac2",
    (TOTAL, A, B),
    (For("n", 2, (Accumulate(at(TOTAL), Binary("*", load(A, N), load(B, N))),)),),
    "mac2(&{total[0]}, {a}, {b});",
    "static void mac2(int32_t *total, const int8_t *a, const int8_t *b)\n"
    "{\n    *total += a[0] * b[0] + a[1] * b[1];\n}\n",
)


def tiled(rows: int = 1) -> Proc:
    """A tile of sums in registers, with a tail."""
    nest = reorder(split(dots(5, 3, 4, rows), "o", 2, "ob", "oi"), "oi", "p")
    nest = unroll(privatize(nest, ["sum"], "oi"), "oi")
    return reorder(reorder(nest, "oi", "r"), "oi", "k")


def tensorized() -> Proc:
    nest = split(dots(2, 3, 4, 2), "k", 2, "kb", "k2")
    return tensorize(nest, "k2", [MAC2])


def clamped() -> Proc:
    """Functions, comparisons, casts and numbers in one expression."""
    value: Expr = Binary("min", Binary("max", Apply(TWICE, (load(X, K),)), Const(-100)), Index(K * 3 + 90))
    return proc_of(For("k", 4, (Store(at(Y, K), Cast(DType.I8, value)),)), params=(X, Y))


PROCS = {
    "dots": lambda: dots(2, 3, 4),
    "dots_of_rows": lambda: dots(2, 3, 4, rows=2),
    "tiled": tiled,
    "tiled_of_rows": lambda: tiled(rows=2),
    "tensorized": tensorized,
    "numbered": lambda: numbered(2, 3),
    "two_parts": lambda: partition(numbered(2, 3), "k", 2, "whole", "rest"),
    "clamped": clamped,
}


@pytest.mark.parametrize("name", PROCS)
def test_a_proc_reads_as(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"{name}.c", print_proc(PROCS[name](), f"The nest {name}."))


def test_parameters_that_the_body_does_not_touch_are_left_out() -> None:
    made = kernel_function(proc_of(Store(at(Y), Const(1)), params=(X, Y)), "One.")
    assert made.buffers == (Y,)
    assert [p.name for p in made.function.params] == ["y"]


def test_functions_and_instructions_are_named_once_in_order_of_use() -> None:
    first = ScalarFunction("first", DType.I32, "", lambda v: v)
    value = Apply(TWICE, (Apply(first, (load(X, K),)),))
    nest = proc_of(For("k", 2, (Store(at(Y, K), value), Store(at(Y, K + 2), value))), params=(X, Y))
    assert [helper.name for helper in helpers_of_proc(nest).every] == ["first", "twice"]
    assert [helper.name for helper in helpers_of_proc(tensorized()).every] == ["mac2"]


def test_a_local_whose_index_varies_stays_an_array() -> None:
    local = Buffer("a", DType.I32, 4, Role.LOCAL)
    body = (Declare(local), For("k", 4, (Store(at(local, K), load(X, K)),)), Store(at(Y, 3), load(local, 2)))
    text = print_proc(proc_of(*body, params=(X, Y)), "An array.")
    assert "    int32_t a[4];\n" in text
    assert "    y[3] = (int8_t)(a[2]);\n" in text


def test_a_local_that_an_instruction_holds_in_a_vector_has_the_type_of_its_parameter() -> None:
    lanes, local = replace(TOTAL, name="lanes", elements=4, vector_type="quad_t"), replace(TOTAL, elements=4)
    store_lanes = Instruction(
        "store_lanes",
        (Y, lanes),
        (For("n", 4, (Store(at(Y, N), Cast(DType.I8, load(lanes, N))),)),),
        "store_lanes({y}, {lanes});",
        "",
    )
    store = Store(at(Y, K), Cast(DType.I8, load(local, K)))
    proc = tensorize(proc_of(Declare(local), For("k", 4, (store,)), params=(Y,)), "k", [store_lanes])
    text = print_proc(proc, "Lanes.")
    assert "    quad_t total;\n" in text
    assert "    store_lanes(y, total);\n" in text


@pytest.mark.cc
@pytest.mark.slow
def test_the_compiler_finds_the_same_meaning(require_tool: Callable[..., None], tmp_path: Path) -> None:
    require_tool("gcc")
    checks = [proc_check(name, make()) for name, make in PROCS.items()]
    assert failures_on_host(checks, tmp_path / "checks") == {}


def test_rows_are_named_by_their_pointer() -> None:
    assert "x[r][" in print_proc(dots(1, 1, 2, rows=2), "Rows.")
