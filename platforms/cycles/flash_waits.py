"""How long a run waits for flash: its trace driven through the chip's caches and prefetch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from boards.flash_access import FlashAccess, FlashCache
from platforms.cycles.cache import Cache
from platforms.cycles.instruction import Instruction
from platforms.cycles.trace import Numbers, Trace

Fetches = tuple[tuple[int, int], ...]  # parts of flash by number, and the cycles spent in the code of each


@dataclass(frozen=True, slots=True)
class Flash:
    """The flash of a chip that runs at some clock."""

    access: FlashAccess
    wait_states: int
    region: range  # its addresses

    @property
    def part_bytes(self) -> int:
        """What one read gives."""
        return self.access.bits // 8


def fetches_of(code: Sequence[Instruction], cycles: Sequence[int], part_bytes: int) -> Fetches:
    """The parts of flash that a block lies in. An instruction counts to the part in which it begins."""
    spent: dict[int, int] = {}
    for one, each in zip(code, cycles, strict=True):
        first, last = one.address // part_bytes, (one.end - 1) // part_bytes
        spent[first] = spent.get(first, 0) + each
        spent.setdefault(last, 0)
    return tuple(spent.items())


def waits(trace: Trace, fetches: Sequence[Fetches], flash: Flash) -> Numbers:
    """The cycles that each executed block waits, in the order of execution."""
    if not flash.wait_states:
        return np.zeros(len(trace.order), np.int64)
    return np.fromiter(_waits(trace, fetches, flash), np.int64, len(trace.order))


def _waits(trace: Trace, fetches: Sequence[Fetches], flash: Flash) -> Iterator[int]:
    code = _Side(flash, flash.access.instructions, flash.access.prefetch)
    data = code if flash.access.shared else _Side(flash, flash.access.data, False)
    in_flash = [int(address) in flash.region for address in trace.addresses]
    reads = (trace.flash_reads // flash.part_bytes).tolist()
    bounds = [*trace.reads_before.tolist(), len(reads)]
    for number, low, high in zip(trace.order.tolist(), bounds, bounds[1:], strict=False):
        waited = sum(code.fetch(part, spent) for part, spent in fetches[number]) if in_flash[number] else 0
        yield waited + sum(data.read(part) for part in reads[low:high])


class _Side:
    """One of the core's two ways to flash: its cache, and what it read last."""

    def __init__(self, flash: Flash, cache: FlashCache | None, prefetch: bool) -> None:
        self._cache = Cache(cache, flash.part_bytes) if cache else None
        self._wait_states = flash.wait_states
        self._prefetch = prefetch
        self._last = -2  # no part, and none before one
        self._spent = 0  # cycles since the last part was there

    def fetch(self, part: int, spent: int) -> int:
        """Goes on with code in that part, which takes so many cycles; returns for how many it waits."""
        last, self._last = self._last, part
        before, self._spent = self._spent, spent
        if part == last:
            self._spent += before
            return 0
        if self._cache is not None and self._cache.take(part):
            return 0
        if self._prefetch and part == last + 1:
            return max(0, self._wait_states + 1 - before)
        return self._wait_states

    def read(self, part: int) -> int:
        """Reads data in that part."""
        if self._cache is None:
            last, self._last = self._last, part
            return 0 if part == last else self._wait_states
        return 0 if self._cache.take(part) else self._wait_states
