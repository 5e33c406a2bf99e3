"""The cycles that layers wait for constants in flash, by their loops and the cache before the flash."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate

from aot.ir.types import Array
from aot.line_cache import LineCache
from aot.target import FlashReads
from codegen.kernels.kernel import Kernel, aligned
from codegen.loops.constant_reads import ConstantReads
from codegen.lower.stages import LoweredStage


def constant_waits(stage: LoweredStage, reads: FlashReads) -> int:
    """Cycles of a run. Steps of other layers are taken not to lie between those of this one, and the cache to
    hold nothing else: where that is not so, it waits longer. Of a call nothing is known."""
    kernel = stage.kernel
    if kernel.calls is not None or not kernel.constants:
        return 0
    begins = _begins(kernel.constants)
    once = sum(_missed(kernel, begins, reads, number, 1) for number in _run_once(kernel))
    steps = kernel.accumulation.rows if kernel.accumulation is not None else stage.steps
    number = kernel.procs.index(kernel.proc)
    return (once + _missed(kernel, begins, reads, number, 1 if kernel.whole else steps)) * reads.wait_cycles


def _run_once(kernel: Kernel) -> list[int]:
    return [number for number, proc in enumerate(kernel.procs) if proc is not kernel.proc]


def _missed(kernel: Kernel, begins: Mapping[str, int], reads: FlashReads, number: int, runs: int) -> int:
    """Lines that are waited for in so many runs, of which the second and all later ones are alike."""
    proc = kernel.procs[number]
    followed = ConstantReads(proc, begins, reads.line_bytes, LineCache(reads.sets, reads.ways))
    missed = [followed.missed() for _ in range(min(runs, 2))]
    return sum(missed) + sum(missed[-1:]) * max(0, runs - 2)


def _begins(constants: Mapping[str, Array]) -> Mapping[str, int]:
    """The beginning of each constant, one behind the other as they are written."""
    ends = accumulate((aligned(array.nbytes) for array in constants.values()), initial=0)
    return dict(zip(constants, ends, strict=False))
