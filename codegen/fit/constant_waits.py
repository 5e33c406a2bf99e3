"""The cycles that layers wait for constants in flash: all steps in their order, through one cache.

Layers whose rows take turns throw each other's constants out of the cache: none is looked at alone.
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
    """The cycles of a run for each stage. The cache holds constants alone; of calls nothing is known."""
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
    once: tuple[ConstantReads, ...]  # before or behind its steps
    steps: tuple[ConstantReads, ...]  # in each


def _followed(
    kernel: Kernel, begin: int, memory: ReadLines
) -> tuple[tuple[ConstantReads, ...], tuple[ConstantReads, ...]]:
    if kernel.calls is not None or not kernel.constants:
        return (), ()
    begins = dict(_begins(kernel, begin))
    once = (ConstantReads(proc, begins, memory) for proc in kernel.procs if proc is not kernel.proc)
    return tuple(once), (ConstantReads(kernel.proc, begins, memory),)


def _begins(kernel: Kernel, begin: int) -> Iterator[tuple[str, int]]:
    """The beginning of each constant, one behind the other as they are written."""
    for name, array in kernel.constants.items():
        yield name, begin
        begin += aligned(array.nbytes)


def _bytes(kernel: Kernel) -> int:
    return sum(aligned(array.nbytes) for array in kernel.constants.values())
