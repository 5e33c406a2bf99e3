"""Computes the cycles lost by branches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from boards.cores import CorePipeline, CoreTiming
from platforms.cycles.instruction import MachineInstruction
from platforms.cycles.trace import Numbers, Trace

Block = Sequence[MachineInstruction]
_CONDITIONAL = "compare_branch"
_NONE = -1


def refills_of(trace: Trace, blocks: Sequence[Block], core: CoreTiming | CorePipeline) -> Numbers:
    """Returns the cycles lost after each executed block except the last; 0 if execution falls through."""
    pairs = trace.order[:-1] * len(blocks) + trace.order[1:]
    different, which = np.unique(pairs, return_inverse=True)
    ways = [divmod(pair, len(blocks)) for pair in different.tolist()]
    each = [refill_of(blocks[here][-1], blocks[there][0], core) for here, there in ways]
    costs = np.array(each, np.int64)[which]
    if isinstance(core, CorePipeline) and core.foresees_last_loop:
        return _with_foreseen(
            costs, [_jump(blocks[here], blocks[there]) for here, there in ways], which, core
        )
    return costs


def refill_of(last: MachineInstruction, target: MachineInstruction, core: CoreTiming | CorePipeline) -> int:
    """Returns the extra cycles of an instruction if `target` is executed next."""
    if target.address == last.end:
        return 0
    across_words = target.bytes == 4 and target.address % 4 != 0
    return core.refill.get(last.kind, 0) + (core.misaligned_target if across_words else 0)


def _jump(here: Block, there: Block) -> tuple[int, bool, bool]:
    """Returns a conditional branch's address, whether it is taken, and whether backward; _NONE otherwise."""
    last, target = here[-1], there[0]
    if last.kind != _CONDITIONAL:
        return _NONE, False, False
    return last.address, target.address != last.end, target.address <= last.address


def _with_foreseen(
    costs: Numbers, jumps: Sequence[tuple[int, bool, bool]], which: Numbers, core: CorePipeline
) -> Numbers:
    """Returns the costs if the last backward branch is predicted as taken: a misprediction costs a refill."""
    costs, remembered = costs.copy(), _NONE
    is_conditional = np.array([address != _NONE for address, _, _ in jumps])[which]
    for at in np.flatnonzero(is_conditional).tolist():
        address, taken, back = jumps[which[at]]
        if address == remembered:
            costs[at] = 0 if taken else core.refill.get(_CONDITIONAL, 0)
            remembered = address if taken else _NONE
        elif taken and back:
            remembered = address
    return costs
