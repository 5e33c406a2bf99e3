"""Splits layers across two cores if half a step outweighs the hand-over."""

from __future__ import annotations

from dataclasses import replace

from codegen.kernels.kernel import Kernel
from codegen.loops.halves import halves_of
from codegen.lower.stages import Lowered, LoweredStage

# A hand-over costs about as much as this many statements of a kernel: 140 to 220 instructions according to
# benchmarks/two_cores.md, including the setup of both halves, at three or four per statement.
HANDOVER_COST = 50
_GAIN = 2  # factor by which the savings must exceed it


def on_two_cores(lowered: Lowered) -> Lowered:
    """Returns the stages with split kernels if that pays; each has the reason why it is split or not."""
    return replace(lowered, stages=tuple(map(_halved, lowered.stages)))


def _halved(stage: LoweredStage) -> LoweredStage:
    refused = why_on_one_core(stage.kernel)
    says = f"on one core: {refused}" if refused else "half of it on each core"
    kernel = replace(stage.kernel, in_halves=not refused, why=f"{stage.kernel.why}; {says}")
    return replace(stage, kernel=kernel)


def why_on_one_core(kernel: Kernel) -> str:
    """Returns why a step of the kernel is not split; empty if it is."""
    if kernel.calls is not None:
        return "a library function computes it"
    if len(kernel.procs) > 1:
        return "each step depends on the previous one"
    halves = halves_of(kernel.proc)
    if isinstance(halves, str):
        return halves
    least = _GAIN * HANDOVER_COST
    if halves.saved < least:
        return f"half of a step saves {halves.saved:,} statements, a handover pays off from {least}"
    return ""
