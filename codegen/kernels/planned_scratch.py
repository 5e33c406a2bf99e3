"""Arrays that a kernel works in lie in the arena, where the plan has room for them, and not on the stack.

They are needed only while a row is computed, so they take no byte of RAM where the arena is not full at that
time. The stack of every thread that runs the model would have to be large enough for them always.
"""

from __future__ import annotations

from dataclasses import replace

from codegen.kernels.kernel import Kernel
from codegen.loops.ir import Buffer, BufferPlace, Declare, For, Invoke, Proc, Role, Stmt, map_places, walk

LEAST_BYTES = 64  # smaller arrays stay on the stack: a parameter costs as much


def with_planned_scratch(kernel: Kernel) -> Kernel:
    """The kernel with its arrays as parameters."""
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
    """The arrays by name, as long as the longest of each name: blocks of a row use them in turn."""
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
    """Buffers that instructions write to memory and read again; others may become registers."""
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
