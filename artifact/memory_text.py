"""Draws the memory map as text: a line per buffer, time from left to right, bars for bytes in use."""

from __future__ import annotations

from collections.abc import Sequence

from aot.plan.model import Kind
from artifact.memory_map import BufferLife, MemoryMap

_HEIGHTS = " ▁▂▃▄▅▆▇█"
_WIDEST_NAME = 28
_LEAST_COLUMNS = 12  # of the chart
_TOTAL = "all together"
_CALLERS = (Kind.INPUT.value, Kind.OUTPUT.value)


def draw_memory(memory: MemoryMap, columns: int = 60, width: int | None = None) -> str:
    """Returns the map as lines of at most about `columns` + 75 characters, or `width`, without color."""
    steps = len(memory.order)
    longest = _WIDEST_NAME if width is None else min(_WIDEST_NAME, width // 4)
    names = max(len(shortened(name, longest)) for name in (*(b.name for b in memory.buffers), _TOTAL))
    columns = min(columns, steps)
    if width is not None:
        columns = min(columns, max(_LEAST_COLUMNS, width - names - _beside(memory)))
    lines = [f"{steps} rows are computed, from left to right. A bar is the share of a buffer that is needed."]
    for pool in memory.by_pool():
        lines += _pool(pool, columns, names, is_only=len(memory.pool_bytes) == 1)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _beside(memory: MemoryMap) -> int:
    """Returns the characters of a line besides the name and the chart."""
    return len(" ||  ") + 2 * _digits(memory) + max(len(rows_text(buffer)) for buffer in memory.buffers)


def _digits(memory: MemoryMap) -> int:
    return max(9, len(f"{memory.arena_bytes:,}") + 2)


def _pool(memory: MemoryMap, columns: int, width: int, is_only: bool) -> list[str]:
    """Draws the buffers of one memory, their sum, and its peak."""
    steps = len(memory.order)
    (pool,) = memory.pool_bytes
    title = "" if is_only else f"in {pool}"
    digits = _digits(memory)
    head = f"{title:{width}} {'':{columns}}  {'bytes':>{digits}}{'at':>{digits}}"
    lines = [*([] if is_only else [""]), head]
    for buffer in memory.buffers:
        name = shortened(buffer.name, width)
        cells = _cells(buffer.live_rows(steps), buffer.rows_held, columns)
        lines.append(
            f"{name:{width}} |{cells}|{buffer.bytes:{digits},}{buffer.offset:{digits},}  {rows_text(buffer)}"
        )
    total = _cells(memory.live_bytes, memory.arena_bytes, columns)
    lines.append(f"{_TOTAL:{width}} |{total}|{memory.arena_bytes:{digits},}{'':{digits}}  arena")
    mark = width + 2 + _column(memory.peak_step, steps, columns)
    says = f"peak: {memory.peak_bytes:,} bytes"
    lines.append(f"{f'{says} ▲':>{mark + 1}}" if len(says) < mark else f"{'':{mark}}▲ {says}")
    return lines


def rows_text(buffer: BufferLife) -> str:
    """Describes how much of a tensor is held: "ring of 3 of 25 rows", "25 rows"."""
    if not buffer.bytes and buffer.kind in _CALLERS:
        return "the caller's"
    if buffer.is_ring:
        return f"ring of {buffer.rows_held} of {buffer.rows} rows"
    return f"{buffer.rows} rows" if buffer.rows > 1 else "whole"


def shortened(name: str, most: int) -> str:
    """Keeps the end of a long name, which is most specific; starts after a slash if possible."""
    if len(name) <= most:
        return name
    end = name[1 - most :]
    slash = end.find("/")
    return f"…{end[slash:]}" if 0 <= slash < most // 2 else f"…{end}"


def _cells(values: Sequence[int], full: int, columns: int) -> str:
    """Draws a bar per column: the largest need in its time range. Any need is visible."""
    most = [0] * columns
    for time, value in enumerate(values):
        column = _column(time, len(values), columns)
        most[column] = max(most[column], value)
    return "".join(_HEIGHTS[-(-value * 8 // full)] for value in most)


def _column(time: int, steps: int, columns: int) -> int:
    return time * columns // steps
