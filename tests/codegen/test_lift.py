"""Kernels that are equal except for literals share one text, and each gets back what it was."""

from __future__ import annotations

from dataclasses import replace

import pytest
from graphs import GRAPHS
from model_checks import DSP, OPTIONS, PLAIN
from nests import CHANNEL, K, dots, numbered, proc_of

from aot.ir.types import DType
from aot.target import Target
from codegen.c.kernel_function import kernel_function
from codegen.c.lift import lift, numbers_of, shape_key, with_numbers
from codegen.c.printer import Printer
from codegen.c.tree import ArrayLength, DeclareArray, FunctionDefinition, Shape
from codegen.fit.plan_job import plan_job
from codegen.job import ImportedModel, Job
from codegen.loops.ir import Buffer, Const, Declare, For, Proc, Role, Store, at, load
from codegen.loops.schedule import split

X = Buffer("x", DType.I8, 64, Role.INPUT)
Y = Buffer("y", DType.I8, 64, Role.OUTPUT)


def copying(count: int, step: int, first: int) -> Proc:
    return proc_of(For("o", count, (Store(at(Y, CHANNEL), load(X, CHANNEL * step + first)),)), params=(X, Y))


def through_room(elements: int) -> Proc:
    """A copy by way of an array on the stack."""
    room = Buffer("room", DType.I8, elements, Role.LOCAL)
    there = For("o", elements, (Store(at(room, CHANNEL), load(X, CHANNEL)),))
    back = For("k", elements, (Store(at(Y, K), load(room, K)),))
    return proc_of(Declare(room), there, back, params=(X, Y))


def function(proc: Proc) -> FunctionDefinition:
    return kernel_function(proc, "").function


def functions(*procs: Proc) -> list[FunctionDefinition]:
    return [function(proc) for proc in procs]


def test_what_differs_becomes_a_parameter_called_after_its_place() -> None:
    lifted = lift(functions(copying(4, 2, 0), copying(8, 3, 1)))
    assert lifted.numbers == (
        {"o_count": 4, "x_per_o": 2, "x_first": 0},
        {"o_count": 8, "x_per_o": 3, "x_first": 1},
    )
    text = Printer().function(lifted.function)
    assert "o < o_count" in text
    assert "x[o * x_per_o + x_first]" in text
    assert "const struct nest_shape *restrict shape" in text


def test_literals_that_differ_together_are_one_parameter() -> None:
    lifted = lift(functions(copying(4, 4, 1), copying(8, 8, 1)))
    assert lifted.numbers == ({"o_count": 4}, {"o_count": 8})


def test_a_member_is_as_wide_as_its_widest_number() -> None:
    lifted = lift(functions(copying(4, 2**15 - 1, 1), copying(8, 2, 2**15)))
    assert lifted.function.shape == Shape(
        (("o_count", "int16_t"), ("x_per_o", "int16_t"), ("x_first", "int32_t"))
    )


def storing(count: int, places: tuple[int, ...], step: int) -> Proc:
    stores = tuple(Store(at(Y, CHANNEL * step + place), load(X, CHANNEL)) for place in places)
    return proc_of(For("o", count, stores), params=(X, Y))


def test_places_are_sums_of_few_steps() -> None:
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


def test_a_lone_kernel_keeps_its_literals() -> None:
    alone = function(dots(2, 3, 4))
    assert lift([alone]).function == alone
    assert lift([alone]).numbers == ({},)


@pytest.mark.parametrize(
    "others",
    [(numbered(2, 3),), (dots(3, 4, 5, rows=2),), (split(dots(4, 3, 2), "p", 2, "pb", "pi"),)],
    ids=["another nest", "more rows", "a tail"],
)
def test_another_nest_has_another_skeleton(others: tuple[Proc, ...]) -> None:
    shape_keys = {shape_key(function(proc)) for proc in (dots(4, 3, 2), *others)}
    assert len(shape_keys) == len(others) + 1


def test_other_constants_in_expressions_are_literals_too() -> None:
    ones, twos = (proc_of(Store(at(Y), Const(value)), params=(Y,)) for value in (1, 2))
    assert lift(functions(ones, twos)).numbers == ({"number": 1}, {"number": 2})


def test_an_array_on_the_stack_is_as_long_as_any_of_them_needs() -> None:
    lifted = lift(functions(through_room(3), through_room(7)))
    assert [s.length for s in lifted.function.body if isinstance(s, DeclareArray)] == [ArrayLength(7)]


@pytest.mark.parametrize("target", [PLAIN, DSP], ids=["plain", "dsp"])
def test_every_kernel_of_a_network_gets_back_what_it_was(target: Target) -> None:
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
