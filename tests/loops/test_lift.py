"""Kernels that are equal but for literals share one text, and each gets back what it was."""

from __future__ import annotations

from dataclasses import replace

import pytest
from graphs import GRAPHS
from model_checks import DSP, OPTIONS, PLAIN
from nests import CHANNEL, K, dots, mean_the_same, numbered, proc_of

from aot.ir.types import DType
from aot.passes.pipeline import run_pipeline
from aot.target import Target
from codegen.fitting import fit_graph
from codegen.loops.ir import Buffer, Const, Declare, For, Proc, Role, Store, at, load
from codegen.loops.lift import lift, literals_of, lowered, shape_of
from codegen.loops.print_c import expand_unrolled, print_expanded
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


def expanded(proc: Proc) -> Proc:
    return replace(proc, body=expand_unrolled(proc.body))


def test_what_differs_becomes_a_parameter_called_after_its_place() -> None:
    lifted = lift([copying(4, 2, 0), copying(8, 3, 1)])
    assert lifted.numbers == (
        {"o_count": 4, "x_per_o": 2, "x_first": 0},
        {"o_count": 8, "x_per_o": 3, "x_first": 1},
    )
    text = print_expanded(lifted.proc, "Copies.", dict.fromkeys(lifted.numbers[0], DType.I16)).text
    assert "o < o_count" in text
    assert "x[o * x_per_o + x_first]" in text
    assert "const struct nest_shape *restrict shape" in text


def test_literals_that_differ_together_are_one_parameter() -> None:
    lifted = lift([copying(4, 4, 1), copying(8, 8, 1)])
    assert lifted.numbers == ({"o_count": 4}, {"o_count": 8})


def test_a_lone_kernel_keeps_its_literals() -> None:
    proc = expanded(dots(2, 3, 4))
    assert lift([proc]).proc == proc
    assert lift([proc]).numbers == ({},)


@pytest.mark.parametrize(
    "others",
    [(numbered(2, 3),), (dots(3, 4, 5, rows=2),), (split(dots(4, 3, 2), "p", 2, "pb", "pi"),)],
    ids=["another nest", "more rows", "a tail"],
)
def test_another_nest_has_another_shape(others: tuple[Proc, ...]) -> None:
    shapes = {shape_of(expanded(proc)) for proc in (dots(4, 3, 2), *others)}
    assert len(shapes) == len(others) + 1


def test_other_constants_in_expressions_are_literals_too() -> None:
    ones, twos = (proc_of(Store(at(Y), Const(value)), params=(Y,)) for value in (1, 2))
    assert lift([ones, twos]).numbers == ({"number": 1}, {"number": 2})


def test_an_array_on_the_stack_is_as_long_as_any_of_them_needs() -> None:
    lifted = lift([through_room(3), through_room(7)])
    assert [s.buffer.elements for s in lifted.proc.body if isinstance(s, Declare)] == [7]
    assert mean_the_same(through_room(3), lowered(lifted.proc, lifted.numbers[0]))
    assert mean_the_same(through_room(7), lowered(lifted.proc, lifted.numbers[1]))


def without_rooms(proc: Proc) -> list[int]:
    return [value for site, value in literals_of(proc) if not site.is_room]


@pytest.mark.parametrize("target", [PLAIN, DSP], ids=["plain", "dsp"])
def test_every_kernel_of_a_network_gets_back_what_it_was(target: Target) -> None:
    fitted = fit_graph(run_pipeline(GRAPHS["layers_alike"]()), target, OPTIONS["size"])
    families: dict[Proc, list[Proc]] = {}
    for stage in fitted.lowered.stages:
        for proc in map(expanded, stage.kernel.procs):
            nameless = replace(proc, name="")
            families.setdefault(shape_of(nameless), []).append(nameless)
    assert max(len(set(family)) for family in families.values()) > 1
    for family in families.values():
        lifted = lift(family)
        for proc, numbers in zip(family, lifted.numbers, strict=True):
            again = lowered(lifted.proc, numbers)
            assert shape_of(again) == shape_of(proc)
            assert without_rooms(again) == without_rooms(proc)
