"""Estimates cycles lost to flash wait states for constants, by simulating one cache over all steps.

Interleaved layers evict each other's constants from the cache, so layers cannot be simulated separately.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from aot.line_cache import LineCache
from aot.target import FlashReads
from codegen.kernels.kernel import Kernel, aligned
from codegen.loops.constant_reads import ConstantReads, ReadLines
from codegen.lower.stages import LoweredStage


def constant_waits(
    stages: Sequence[LoweredStage], order: Sequence[int], reads: FlashReads
) -> tuple[int, ...]:
    """Returns the cycles per run for each stage. Only constants are cached; code fetches are ignored."""
    memory = ReadLines(reads.line_bytes, LineCache(reads.sets, reads.ways))
    ends = accumulate((_bytes(stage.kernel) for stage in stages), initial=0)
    layers = [
        _ReadingLayer(*_followed(stage.kernel, end, memory)) for stage, end in zip(stages, ends, strict=False)
    ]
    missed = [0] * len(stages)
    begun = set[int]()
    for number in order:
        once = layers[number].once if number not in begun else ()
        missed[number] += sum(proc.missed() for proc in (*once, *layers[number].steps))
        begun.add(number)
    return tuple(each * reads.wait_cycles for each in missed)


@dataclass(frozen=True, slots=True)
class _ReadingLayer:
    once: tuple[ConstantReads, ...]  # before or after its steps
    steps: tuple[ConstantReads, ...]  # in each step


def _followed(
    kernel: Kernel, begin: int, memory: ReadLines
) -> tuple[tuple[ConstantReads, ...], tuple[ConstantReads, ...]]:
    if kernel.calls is not None or not kernel.constants:
        return (), ()
    begins = dict(_begins(kernel, begin))
    once = (ConstantReads(proc, begins, memory) for proc in kernel.procs if proc is not kernel.proc)
    return tuple(once), (ConstantReads(kernel.proc, begins, memory),)


def _begins(kernel: Kernel, begin: int) -> Iterator[tuple[str, int]]:
    """Yields each constant with its address, in the order of definition."""
    for name, array in kernel.constants.items():
        yield name, begin
        begin += aligned(array.nbytes)


def _bytes(kernel: Kernel) -> int:
    return sum(aligned(array.nbytes) for array in kernel.constants.values())
