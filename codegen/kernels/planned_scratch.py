"""Moves arrays of a kernel from the stack to the arena, where the planner reserves memory for them.

They are needed only while a row is computed, so they add no RAM unless the arena is full at that time. On the
stack, every thread that runs the model would need memory for them all the time.
"""

from __future__ import annotations

from dataclasses import replace

from codegen.kernels.kernel import Kernel
from codegen.loops.ir import Buffer, BufferPlace, Declare, For, Invoke, Proc, Role, Stmt, map_places, walk

LEAST_BYTES = 64  # smaller arrays stay on the stack: a parameter costs as much


def with_planned_scratch(kernel: Kernel) -> Kernel:
    """Returns the kernel with its arrays as parameters."""
    return kernel.with_loops(_planned)


def _planned(proc: Proc) -> Proc:
    arrays = _arrays(proc)
    if not arrays:
        return proc

    def change(place: BufferPlace) -> BufferPlace:
        return replace(place, buffer=arrays.get(place.buffer.name, place.buffer))

    body = tuple(map_places(stmt, change) for stmt in _without(proc.body, frozenset(arrays)))
    return replace(proc, params=(*proc.params, *arrays.values()), body=body)


def _arrays(proc: Proc) -> dict[str, Buffer]:
    """Returns the arrays by name, each with its largest size: blocks of a row use them in turn."""
    found: dict[str, Buffer] = {}
    in_memory = _given_as_scratch(proc)
    for stmt in walk(proc.body):
        if not isinstance(stmt, Declare) or stmt.buffer.name not in in_memory:
            continue
        if stmt.buffer.elements * stmt.buffer.dtype.bytes >= LEAST_BYTES:
            known = found.get(stmt.buffer.name, stmt.buffer)
            longest = max(known, stmt.buffer, key=lambda buffer: buffer.elements)
            found[stmt.buffer.name] = replace(longest, role=Role.SCRATCH)
    return found


def _given_as_scratch(proc: Proc) -> frozenset[str]:
    """Returns buffers that instructions write to memory and read back. Others may become registers."""
    return frozenset(
        window.buffer.name
        for stmt in walk(proc.body)
        if isinstance(stmt, Invoke)
        for window, param in zip(stmt.windows, stmt.instruction.params, strict=True)
        if param.role is Role.SCRATCH
    )


def _without(body: tuple[Stmt, ...], names: frozenset[str]) -> tuple[Stmt, ...]:
    kept = (s for s in body if not (isinstance(s, Declare) and s.buffer.name in names))
    return tuple(replace(s, body=_without(s.body, names)) if isinstance(s, For) else s for s in kept)
