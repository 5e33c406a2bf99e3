"""Loops as C functions: their text, their meaning to a compiler, and one function for equal kernels."""

from dataclasses import replace

import pytest
from c_checks import failures_on_host
from graphs import GRAPHS
from model_checks import DSP, OPTIONS, PLAIN
from nests import CHANNEL, K, dots, numbered, proc_of
from proc_checks import helpers_of_proc, print_proc, proc_check

from aot.ir.types import DType
from codegen.c.kernel_function import kernel_function
from codegen.c.lift import lift, numbers_of, shape_key, with_numbers
from codegen.c.printer import Printer
from codegen.c.tree import (
    ArrayLength,
    Assign,
    DeclareArray,
    DeclareVariables,
    Do,
    FunctionCall,
    FunctionDefinition,
    Name,
    Number,
    Prefix,
    Shape,
    Stmt,
)
from codegen.fit.plan_job import plan_job
from codegen.job import ImportedModel, Job
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
def test_a_proc_reads_as(name, golden):
    golden(f"{name}.c", print_proc(PROCS[name](), f"The nest {name}."))


def test_parameters_that_the_body_does_not_touch_are_left_out():
    made = kernel_function(proc_of(Store(at(Y), Const(1)), params=(X, Y)), "One.")
    assert made.buffers == (Y,)
    assert [p.name for p in made.function.params] == ["y"]


def test_functions_and_instructions_are_named_once_in_order_of_use():
    first = ScalarFunction("first", DType.I32, "", lambda v: v)
    value = Apply(TWICE, (Apply(first, (load(X, K),)),))
    nest = proc_of(For("k", 2, (Store(at(Y, K), value), Store(at(Y, K + 2), value))), params=(X, Y))
    assert [helper.name for helper in helpers_of_proc(nest).every] == ["first", "twice"]
    assert [helper.name for helper in helpers_of_proc(tensorized()).every] == ["mac2"]


def test_a_local_whose_index_varies_stays_an_array():
    local = Buffer("a", DType.I32, 4, Role.LOCAL)
    body = (Declare(local), For("k", 4, (Store(at(local, K), load(X, K)),)), Store(at(Y, 3), load(local, 2)))
    text = print_proc(proc_of(*body, params=(X, Y)), "An array.")
    assert "    int32_t a[4];\n" in text
    assert "    y[3] = (int8_t)(a[2]);\n" in text


def test_a_local_that_an_instruction_holds_in_a_vector_has_the_type_of_its_parameter():
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
def test_the_compiler_finds_the_same_meaning(tmp_path):
    checks = [proc_check(name, make()) for name, make in PROCS.items()]
    assert failures_on_host(checks, tmp_path / "checks") == {}


def test_rows_are_named_by_their_pointer():
    assert "x[r][" in print_proc(dots(1, 1, 2, rows=2), "Rows.")


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
def test_first_values_are_in_the_definition(body, lines):
    assert Printer().statements(body, 0) == lines


FROM = Buffer("x", DType.I8, 64, Role.INPUT)
TO = Buffer("y", DType.I8, 64, Role.OUTPUT)


def copying(count: int, step: int, first: int) -> Proc:
    return proc_of(
        For("o", count, (Store(at(TO, CHANNEL), load(FROM, CHANNEL * step + first)),)), params=(FROM, TO)
    )


def through_room(elements: int) -> Proc:
    """A copy by way of an array on the stack."""
    room = Buffer("room", DType.I8, elements, Role.LOCAL)
    there = For("o", elements, (Store(at(room, CHANNEL), load(FROM, CHANNEL)),))
    back = For("k", elements, (Store(at(TO, K), load(room, K)),))
    return proc_of(Declare(room), there, back, params=(FROM, TO))


def function(proc: Proc) -> FunctionDefinition:
    return kernel_function(proc, "").function


def functions(*procs: Proc) -> list[FunctionDefinition]:
    return [function(proc) for proc in procs]


def test_what_differs_becomes_a_parameter_called_after_its_place():
    lifted = lift(functions(copying(4, 2, 0), copying(8, 3, 1)))
    assert lifted.numbers == (
        {"o_count": 4, "x_per_o": 2, "x_first": 0},
        {"o_count": 8, "x_per_o": 3, "x_first": 1},
    )
    text = Printer().function(lifted.function)
    assert "o < o_count" in text
    assert "x[o * x_per_o + x_first]" in text
    assert "const struct nest_shape *restrict shape" in text


def test_literals_that_differ_together_are_one_parameter():
    lifted = lift(functions(copying(4, 4, 1), copying(8, 8, 1)))
    assert lifted.numbers == ({"o_count": 4}, {"o_count": 8})


def test_a_member_is_as_wide_as_its_widest_number():
    lifted = lift(functions(copying(4, 2**15 - 1, 1), copying(8, 2, 2**15)))
    assert lifted.function.shape == Shape(
        (("o_count", "int16_t"), ("x_per_o", "int16_t"), ("x_first", "int32_t"))
    )


def storing(count: int, places: tuple[int, ...], step: int) -> Proc:
    stores = tuple(Store(at(TO, CHANNEL * step + place), load(FROM, CHANNEL)) for place in places)
    return proc_of(For("o", count, stores), params=(FROM, TO))


def test_places_are_sums_of_few_steps():
    """Three pixels of two channels: in planes of six bytes, and as pixels of eight channels."""
    planes, pixels = storing(4, (1, 2, 3, 7, 8, 9), 12), storing(4, (0, 8, 16, 1, 9, 17), 2)
    lifted = lift(functions(planes, pixels))
    assert lifted.numbers == (
        {"y_step_2": 6, "y_first": 1, "y_step": 1},
        {"y_step_2": 1, "y_first": 0, "y_step": 8},
    )
    text = Printer().function(lifted.function)
    assert "y[o * y_step_2 * 2 + y_first]" in text
    assert "y[o * y_step_2 * 2 + y_first + y_step * 2 + y_step_2]" in text
    for proc, numbers in zip((planes, pixels), lifted.numbers, strict=True):
        assert with_numbers(lifted.function, numbers) == function(proc)


def test_a_lone_kernel_keeps_its_literals():
    alone = function(dots(2, 3, 4))
    assert lift([alone]).function == alone
    assert lift([alone]).numbers == ({},)


@pytest.mark.parametrize(
    "others",
    [(numbered(2, 3),), (dots(3, 4, 5, rows=2),), (split(dots(4, 3, 2), "p", 2, "pb", "pi"),)],
    ids=["another nest", "more rows", "a tail"],
)
def test_another_nest_has_another_skeleton(others):
    shape_keys = {shape_key(function(proc)) for proc in (dots(4, 3, 2), *others)}
    assert len(shape_keys) == len(others) + 1


def test_other_constants_in_expressions_are_literals_too():
    ones, twos = (proc_of(Store(at(TO), Const(value)), params=(TO,)) for value in (1, 2))
    assert lift(functions(ones, twos)).numbers == ({"number": 1}, {"number": 2})


def test_an_array_on_the_stack_is_as_long_as_any_of_them_needs():
    lifted = lift(functions(through_room(3), through_room(7)))
    assert [s.length for s in lifted.function.body if isinstance(s, DeclareArray)] == [ArrayLength(7)]


@pytest.mark.parametrize("target", [PLAIN, DSP], ids=["plain", "dsp"])
def test_every_kernel_of_a_network_gets_back_what_it_was(target):
    planned = plan_job(Job(ImportedModel(GRAPHS["layers_alike"](), "g", "", "g"), target, OPTIONS["size"]))
    families: dict[FunctionDefinition, dict[FunctionDefinition, None]] = {}
    for stage in planned.lowered.stages:
        for proc in stage.kernel.procs:
            nameless = function(replace(proc, name=""))
            families.setdefault(shape_key(nameless), {}).setdefault(nameless)
    assert max(map(len, families.values())) > 1
    for family in families.values():
        lifted = lift(list(family))
        for alone, numbers in zip(family, lifted.numbers, strict=True):
            again = with_numbers(lifted.function, numbers)
            assert shape_key(again) == shape_key(alone)
            assert numbers_of(again) == numbers_of(alone)
