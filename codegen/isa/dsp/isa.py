"""Arm's DSP extension: two 16-bit products per instruction, and rounding high products."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from aot.ir.types import DType
from codegen.isa.dsp.lanes import LANES
from codegen.isa.dsp.needs import NEEDS
from codegen.isa.dsp.scalar_math import with_dsp
from codegen.isa.dsp.strategies import STRATEGIES
from codegen.isa.isa import Isa, listed_strategies
from codegen.kernels.kernel import Kernel
from codegen.loops.ir import Buffer, BufferPlace, Invoke, Proc, Role, map_places, walk

_START, _SCALE, _BOTH = "bias", "mult", "scaling"


def with_joined_tables(kernel: Kernel) -> Kernel:
    """Returns the kernel with a channel's start and scale in one table, if its loops load them one by one.

    A core with few registers then needs one pointer instead of two, and both numbers share a line of flash.
    """
    tables = {param.name: param for param in kernel.proc.params if param.name in (_START, _SCALE)}
    if len(tables) < 2 or len(kernel.procs) > 1 or kernel.calls is not None or kernel.row_tables:
        return kernel
    start, scale = tables[_START], tables[_SCALE]
    if not start.dtype is scale.dtype is DType.I32 or start.elements != scale.elements:
        return kernel
    if any(place.buffer.name in tables for place in _windows(kernel.proc)):
        return kernel
    both = Buffer(_BOTH, DType.I32, 2 * start.elements, Role.CONSTANT)

    def joined(place: BufferPlace) -> BufferPlace:
        if place.buffer.name not in tables:
            return place
        return replace(place, buffer=both, index=place.index * 2 + (0 if place.buffer.name == _START else 1))

    params = tuple(both if p.name == _START else p for p in kernel.proc.params if p.name != _SCALE)
    body = tuple(map_places(stmt, joined) for stmt in kernel.proc.body)
    numbers = np.stack((kernel.constants[_START], kernel.constants[_SCALE]), axis=1).reshape(-1)
    constants = {
        _BOTH if name == _START else name: data for name, data in kernel.constants.items() if name != _SCALE
    }
    return replace(
        kernel,
        proc=replace(kernel.proc, params=params, body=body),
        constants={**constants, _BOTH: numbers},
    )


def _windows(proc: Proc) -> Iterator[BufferPlace]:
    """Yields the operands of instructions."""
    for stmt in walk(proc.body):
        if isinstance(stmt, Invoke):
            yield from stmt.windows


ISA = Isa(
    "dsp",
    NEEDS,
    listed_strategies("codegen.isa.dsp.strategies", STRATEGIES),
    math=with_dsp,
    rewrite=lambda kernel, _target: with_joined_tables(kernel),
    lanes=LANES,
)
