"""Estimates know kinds of cores by what their files say, and each core and choice of features has its row."""

from __future__ import annotations

import pytest

from aot.target import Feature
from boards.cores import load_core
from codegen.c.part_sizes import INTERRUPTS, core_kind

# core and chosen features -> (startup, a scalar call, the stack of a value in use): what tells rows apart.
ROWS = {
    ("cortex-m0plus", ""): (1280, 39.6, 5.0),
    ("cortex-m23", ""): (1280, 39.6, 5.0),
    ("cortex-m3", ""): (865, 22.7, 2.0),
    ("cortex-m33", ""): (665, 22.7, 2.0),
    ("cortex-m33", "dsp"): (950, 8.6, 4.8),
    ("cortex-m4", "fpu"): (1150, 8.6, 4.8),
    ("cortex-m55", "fpu"): (1150, 8.6, 4.8),
    ("cortex-m55", "fpu mve"): (956, 8.6, 5.0),
    ("cortex-m85", "mve"): (956, 8.6, 5.0),
    ("rv32imac", ""): (766, 49.1, 4.9),
    ("rv32imac-zve32x", ""): (748, 9.4, 4.9),
    ("avr", ""): (766, 49.1, 4.9),
    ("host", ""): (865, 22.7, 2.0),
}


@pytest.mark.parametrize(("core", "chosen"), ROWS)
def test_a_core_has_the_row_of_its_kind(core: str, chosen: str) -> None:
    kind = core_kind(load_core(core).target([Feature(name) for name in chosen.split()]))
    assert (kind.parts.start, kind.parts.scalar_call, kind.stack.value) == ROWS[core, chosen]


@pytest.mark.parametrize("chosen", ["", "fpu"])
def test_real_numbers_take_functions_where_there_is_no_fpu(chosen: str) -> None:
    kind = core_kind(load_core("cortex-m4").target([Feature(name) for name in chosen.split()]))
    assert (kind.parts.floats == 0) == bool(chosen)


@pytest.mark.parametrize(
    ("core", "chosen", "with_reals", "alone"),
    [
        ("cortex-m4", "fpu", (750_000, 104), (4_000_000, 32)),
        ("cortex-m4", "", (4_000_000, 32), (4_000_000, 32)),
        ("cortex-m55", "fpu mve", (300_000, 104), (300_000, 104)),
        ("cortex-m0", "", (4_000_000, 32), (4_000_000, 32)),
    ],
)
def test_long_runs_are_interrupted(
    core: str, chosen: str, with_reals: tuple[int, int], alone: tuple[int, int]
) -> None:
    target = load_core(core).target([Feature(name) for name in chosen.split()])
    for has_floats, expected in ((True, with_reals), (False, alone)):
        found = next(each for each in INTERRUPTS[target.machine] if each.is_of(target, has_floats))
        assert (found.least_work, found.bytes) == expected


def test_no_timer_interrupts_other_machines() -> None:
    assert set(INTERRUPTS) == {"arm"}
