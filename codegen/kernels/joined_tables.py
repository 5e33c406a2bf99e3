"""Interleaves two tables of a kernel: the start of each channel's sum, and its scale.

A core with few registers then needs one pointer instead of two, and both numbers share a line of flash.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from aot.ir.types import DType
from codegen.kernels.kernel import Kernel
from codegen.loops.ir import Buffer, BufferPlace, Invoke, Proc, Role, map_places, walk

START, SCALE, BOTH = "bias", "mult", "scaling"


def with_joined_tables(kernel: Kernel) -> Kernel:
    """Returns the kernel with one table for both, if its loops load them one by one; otherwise the kernel."""
    tables = {param.name: param for param in kernel.proc.params if param.name in (START, SCALE)}
    if len(tables) < 2 or len(kernel.procs) > 1 or kernel.calls is not None or kernel.row_tables:
        return kernel
    start, scale = tables[START], tables[SCALE]
    if not start.dtype is scale.dtype is DType.I32 or start.elements != scale.elements:
        return kernel
    if any(place.buffer.name in tables for place in _windows(kernel.proc)):
        return kernel
    both = Buffer(BOTH, DType.I32, 2 * start.elements, Role.CONSTANT)

    def joined(place: BufferPlace) -> BufferPlace:
        if place.buffer.name not in tables:
            return place
        return replace(place, buffer=both, index=place.index * 2 + (0 if place.buffer.name == START else 1))

    params = tuple(both if p.name == START else p for p in kernel.proc.params if p.name != SCALE)
    body = tuple(map_places(stmt, joined) for stmt in kernel.proc.body)
    numbers = np.stack((kernel.constants[START], kernel.constants[SCALE]), axis=1).reshape(-1)
    constants = {
        BOTH if name == START else name: data for name, data in kernel.constants.items() if name != SCALE
    }
    return replace(
        kernel,
        proc=replace(kernel.proc, params=params, body=body),
        constants={**constants, BOTH: numbers},
    )


def _windows(proc: Proc) -> Iterator[BufferPlace]:
    """Yields the operands of instructions."""
    for stmt in walk(proc.body):
        if isinstance(stmt, Invoke):
            yield from stmt.windows
