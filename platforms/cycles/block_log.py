"""Makes a trace of QEMU's log of executed blocks, which has where each begins and not where it ends."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from platforms.cycles.parts import is_branch
from platforms.cycles.thumb import decode
from platforms.cycles.trace import Trace, Where
from platforms.elf import Segment

_BEGUN = re.compile(r"Trace \d+: \S+ \[[0-9a-f]+/([0-9a-f]+)/")
_NOT_BEGUN = "Stopped execution"  # of the block in the line before, for QEMU's own reasons
_LONG = (0b11101, 0b11110, 0b11111)  # how instructions of four bytes begin


@dataclass(frozen=True, slots=True)
class LayerReport:
    """A call of the function that is told of each row of a layer."""

    layer: int
    returns_to: int


def starts_of(log: Iterable[str]) -> list[int]:
    """The addresses of the blocks that were executed, in order."""
    starts: list[int] = []
    for line in log:
        begun = _BEGUN.match(line)
        if begun:
            starts.append(int(begun[1], 16))
        elif line.startswith(_NOT_BEGUN):
            starts.pop()
    return starts


def trace_of(
    log: Iterable[str], reports: Sequence[LayerReport], where: Where, segments: Sequence[Segment]
) -> Trace:
    """The run's trace. Reads and misaligned accesses are not in the log, and not in the trace."""
    code = _Code(segments)
    numbers: dict[tuple[int, int], int] = {}
    order, ends = array("I"), array("I")
    left = iter(reports)
    resumes_at: int | None = None
    starts = starts_of(log)
    for start, following in zip(starts, [*starts[1:], None], strict=True):
        if resumes_at is not None and start != resumes_at:
            continue
        resumes_at = None
        if start == where.on_layer:
            report = next(left)
            ends.extend((report.layer, len(order)))
            resumes_at = report.returns_to
            continue
        order.append(numbers.setdefault((start, code.end_of(start, following)), len(numbers)))
    return Trace(
        addresses=np.array([start for start, _ in numbers], np.int64),
        code=tuple(code.bytes(start, end) for start, end in numbers),
        order=np.array(order, np.int64),
        flash_reads=np.zeros(0, np.int64),
        reads_before=np.zeros(len(order), np.int64),
        misaligned=np.zeros((0, 2), np.int64),
        layer_ends=np.array(ends, np.int64).reshape(-1, 2),
    )


class _Code:
    """The program's instructions, decoded as they are asked for."""

    def __init__(self, segments: Sequence[Segment]) -> None:
        self._segments = segments
        self._ends: dict[int, tuple[int, ...]] = {}  # of the instructions from an address to the next branch

    def bytes(self, start: int, end: int) -> bytes:
        segment = next(each for each in self._segments if start in each.addresses)
        first = segment.addresses.start
        return segment.data[start - first : end - first]

    def end_of(self, start: int, following: int | None) -> int:
        """The end of a block: where the following one begins, if no branch is before that, or the branch."""
        ends = self._ends.get(start)
        if ends is None:
            ends = self._ends[start] = tuple(self._to_branch(start))
        return following if following in ends else ends[-1]

    def _to_branch(self, address: int) -> Iterator[int]:
        while True:
            head = self.bytes(address, address + 2)
            size = 4 if head[1] >> 3 in _LONG else 2
            (one,) = decode(self.bytes(address, address + size), address)
            address = one.end
            yield address
            if is_branch(one):
                return
