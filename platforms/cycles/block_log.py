"""Builds a trace from QEMU's log of executed blocks, which records only where each block starts."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np

from platforms.cycles.instruction import MachineInstruction
from platforms.cycles.machine_code import MACHINE_CODES
from platforms.cycles.parts import is_branch
from platforms.cycles.trace import Trace, TracePoints
from platforms.elf import Segment

_BEGUN = re.compile(r"Trace \d+: \S+ \[[0-9a-f]+/([0-9a-f]+)/[0-9a-f]+/([0-9a-f]+)\]")
_COUNT, _MOST = 0x1FF, 512  # flags that hold the maximum number of instructions in the block; 0 means 512
_HALF_WORD = 2  # size of the shortest instruction in bytes
_NOTHING = (-1, 0)  # follows the last block
_NOT_BEGUN = "Stopped execution"  # QEMU did not execute the block in the previous line


@dataclass(frozen=True, slots=True)
class LayerReport:
    """A call of the function that reports each row of a layer."""

    layer: int
    returns_to: int


def starts_of(log: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yields executed blocks in order: start address and maximum number of instructions."""
    last: tuple[int, int] | None = None
    for line in log:
        begun = _BEGUN.match(line)
        if begun:
            if last is not None:
                yield last
            last = int(begun[1], 16), int(begun[2], 16) & _COUNT or _MOST
        elif line.startswith(_NOT_BEGUN):
            last = None
    if last is not None:
        yield last


def trace_of(
    log: Iterable[str],
    reports: Sequence[LayerReport],
    where: TracePoints,
    segments: Sequence[Segment],
    machine: str,
) -> Trace:
    """Returns the trace of a run.

    Data reads and misaligned accesses are missing, because QEMU does not log them.
    """
    code = _Code(segments, machine)
    numbers: dict[tuple[int, int], int] = {}
    order, ends = array("I"), array("I")
    left = iter(reports)
    resumes_at: int | None = None
    for (start, most), (following, _) in pairwise(chain(starts_of(log), [_NOTHING])):
        if resumes_at is not None and start != resumes_at:
            continue
        resumes_at = None
        if start == where.on_layer:
            report = next(left)
            ends.extend((report.layer, len(order)))
            resumes_at = report.returns_to
            continue
        order.append(numbers.setdefault((start, code.end_of(start, most, following)), len(numbers)))
    return Trace(
        machine=machine,
        addresses=np.array([start for start, _ in numbers], np.int64),
        code=tuple(code.bytes(start, end) for start, end in numbers),
        order=np.array(order, np.int64),
        flash_reads=np.zeros(0, np.int64),
        reads_before=np.zeros(len(order), np.int64),
        misaligned=np.zeros((0, 2), np.int64),
        layer_ends=np.array(ends, np.int64).reshape(-1, 2),
    )


class _Code:
    """The program's instructions, decoded on demand."""

    def __init__(self, segments: Sequence[Segment], machine: str) -> None:
        self._segments = segments
        self._machine = MACHINE_CODES[machine]
        self._ways: dict[int, tuple[MachineInstruction, ...]] = {}  # from an address to the next branch
        self._found: dict[int, MachineInstruction] = {}  # paths from several addresses may end the same way

    def bytes(self, start: int, end: int) -> bytes:
        segment = next(each for each in self._segments if start in each.addresses)
        first = segment.addresses.start
        return segment.data[start - first : end - first]

    def end_of(self, start: int, most: int, following: int) -> int:
        """Returns the end of a block of at most `most` instructions, followed by the block at `following`.

        A jump may target the middle of this block. Then the next block starts there, although this one did
        not end there.
        """
        way = self._ways.get(start)
        if way is None:
            way = self._ways[start] = tuple(self._to_branch(start))
        page_end = (start // self._machine.page_bytes + 1) * self._machine.page_bytes
        for one in way[: most - 1]:
            if one.end == following and (
                one.end >= page_end - _HALF_WORD or one.name.startswith(self._machine.changes_mode)
            ):
                return following
        return way[:most][-1].end

    def _to_branch(self, address: int) -> Iterator[MachineInstruction]:
        while True:
            one = self._found.get(address) or self._found.setdefault(address, self._decoded(address))
            address = one.end
            yield one
            if is_branch(one):
                return

    def _decoded(self, address: int) -> MachineInstruction:
        size = 4 if self._machine.is_long(self.bytes(address, address + 2)) else 2
        (one,) = self._machine.decode(self.bytes(address, address + size), address)
        return one
