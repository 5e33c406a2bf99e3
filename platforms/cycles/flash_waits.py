"""Simulates flash wait states: feeds a run's trace through the chip's caches and prefetch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from aot.line_cache import LineCache
from boards.flash_access import FlashAccess, FlashCache
from platforms.cycles.instruction import MachineInstruction
from platforms.cycles.trace import Numbers, Trace

Fetches = tuple[tuple[int, int], ...]  # pairs: flash line number, cycles spent in its code


@dataclass(frozen=True, slots=True)
class Flash:
    """A chip's flash at a given clock."""

    access: FlashAccess
    wait_states: int
    region: range  # its addresses


def fetches_of(code: Sequence[MachineInstruction], cycles: Sequence[int], line_bytes: int) -> Fetches:
    """Returns the lines of a block. An instruction counts for the line in which it starts."""
    spent: dict[int, int] = {}
    for one, each in zip(code, cycles, strict=True):
        first, last = one.address // line_bytes, (one.end - 1) // line_bytes
        spent[first] = spent.get(first, 0) + each
        spent.setdefault(last, 0)
    return tuple(spent.items())


def waits(
    trace: Trace,
    blocks: Sequence[Sequence[MachineInstruction]],
    cycles: Sequence[Sequence[int]],
    flash: Flash,
) -> Numbers:
    """Returns the wait cycles of each executed block, in order of execution."""
    line_bytes = flash.access.lines(flash.access.instructions, flash.wait_states).bytes
    fetches = [fetches_of(*each, line_bytes) for each in zip(blocks, cycles, strict=True)]
    return np.fromiter(_waits(trace, fetches, flash), np.int64, len(trace.order))


def _waits(trace: Trace, fetches: Sequence[Fetches], flash: Flash) -> Iterator[int]:
    code = _Side(flash, flash.access.instructions, flash.access.prefetch)
    data = code if flash.access.shared else _Side(flash, flash.access.data, False)
    in_flash = [address in flash.region for address in trace.addresses.tolist()]
    reads = (trace.flash_reads // data.lines.bytes).tolist()
    bounds = [*trace.reads_before.tolist(), len(reads)]
    for number, low, high in zip(trace.order.tolist(), bounds, bounds[1:], strict=False):
        waited = sum(code.wait(line, spent) for line, spent in fetches[number]) if in_flash[number] else 0
        yield waited + sum(data.wait(line, 0) for line in reads[low:high])


class _Side:
    """A bus from the core to flash, for code or data: its cache and its current line."""

    def __init__(self, flash: Flash, cache: FlashCache | None, prefetch: bool) -> None:
        self.lines = flash.access.lines(cache, flash.wait_states)
        self._cache = LineCache(cache.sets, cache.ways) if cache else None
        self._prefetch = prefetch
        self._at_hand = -2  # neither a line nor the one before a line
        self._spent = 0  # cycles since the current line was loaded

    def wait(self, line: int, spent: int) -> int:
        """Moves to a line, in which `spent` cycles pass, and returns the wait cycles."""
        before, self._spent = self._spent, spent
        last, self._at_hand = self._at_hand, line
        if line == last:
            self._spent += before
            return 0
        if self._cache is not None and self._cache.take(line):
            return 0
        is_begun = self._prefetch and line == last + 1
        return max(0, self.lines.wait - before) if is_begun else self.lines.wait
