"""Estimates the cycles of a run: a core's cycle counts applied to its trace, plus flash wait states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from boards.cores import CorePipeline, CoreTiming
from platforms.cycles.flash_waits import Flash, waits
from platforms.cycles.instruction import MachineInstruction
from platforms.cycles.machine_code import MACHINE_CODES
from platforms.cycles.parts import BRANCHES, FLASH_WAITS, LOADS, PARTS, part_of
from platforms.cycles.pipeline import IDLE, cycles_by_part, through
from platforms.cycles.refills import refills_of
from platforms.cycles.rules import cycles_of
from platforms.cycles.trace import Numbers, Trace

Block = tuple[MachineInstruction, ...]


@dataclass(frozen=True, slots=True)
class Cycles:
    """Instructions and cycles of a run or of one layer."""

    instructions: int
    parts: Mapping[str, int]  # cycles by category, in the order of PARTS

    @property
    def count(self) -> int:
        return sum(self.parts.values())


@dataclass(frozen=True, slots=True)
class Estimate:
    run: Cycles
    layers: Mapping[int, Cycles]  # by index; empty if the model did not report its layers


@dataclass(frozen=True, slots=True)
class BlockCost:
    """A basic block's cost in a layer: number of executions, and maximum cycles of one execution."""

    executions: int
    cycles: int


def block_costs(
    trace: Trace, core: CoreTiming | CorePipeline, flash: Flash | None
) -> Mapping[int, Mapping[int, BlockCost]]:
    """Returns block costs by layer index and block address, which show where two inputs differ."""
    owner, each = _owners(trace), _Table(trace, _blocks(trace), core, flash).each()
    return {
        layer: _costs(trace.addresses, trace.order[owner == layer], each[owner == layer])
        for layer in np.unique(trace.layer_ends[:, 0]).tolist()
    }


def _costs(addresses: Numbers, order: Numbers, cycles: Numbers) -> Mapping[int, BlockCost]:
    """Sums up costs by address. Two blocks have the same address if one is the start of the other."""
    found: dict[int, BlockCost] = {}
    for block in np.unique(order).tolist():
        here, address = order == block, int(addresses[block])
        before = found.get(address, BlockCost(0, 0))
        most = max(before.cycles, int(cycles[here].max()))
        found[address] = BlockCost(before.executions + int(here.sum()), most)
    return found


def estimate(trace: Trace, core: CoreTiming | CorePipeline, flash: Flash | None) -> Estimate:
    """Returns the cycles of a trace; without `flash`, memory has no wait states."""
    blocks = _blocks(trace)
    owner = _owners(trace)
    table = _Table(trace, blocks, core, flash)
    whole = table.cycles(np.ones(len(trace.order), bool))
    return Estimate(
        whole, {layer: table.cycles(owner == layer) for layer in np.unique(trace.layer_ends[:, 0]).tolist()}
    )


def _blocks(trace: Trace) -> list[Block]:
    """Decodes each block; blocks that were not executed stay empty."""
    decode = MACHINE_CODES[trace.machine].decode
    executed = np.bincount(trace.order, minlength=len(trace.code)).tolist()
    addresses = trace.addresses.tolist()
    return [
        decode(code, address) if count else ()
        for code, address, count in zip(trace.code, addresses, executed, strict=True)
    ]


def _owners(trace: Trace) -> Numbers:
    """Returns the layer of each executed block: the next one to report, or the last one after all reports."""
    layers, ends = trace.layer_ends[:, 0], trace.layer_ends[:, 1]
    if not len(layers):
        return np.full(len(trace.order), -1)
    next_end = np.searchsorted(ends, np.arange(len(trace.order)), side="right")
    return layers[np.minimum(next_end, len(layers) - 1)]


class _Table:
    """Cycles by category: a fixed part for each block, and an additional part for each execution."""

    def __init__(
        self, trace: Trace, blocks: Sequence[Block], core: CoreTiming | CorePipeline, flash: Flash | None
    ) -> None:
        cycles = [_alone(block, core) for block in blocks]
        self._order = trace.order
        self._lengths = np.array([len(block) for block in blocks])
        self._by_part = np.array([_by_part(*each) for each in zip(blocks, cycles, strict=True)])
        self._more = np.zeros((len(trace.order), len(PARTS)), np.int64)
        refills = np.append(refills_of(trace, blocks, core), 0)
        if isinstance(core, CorePipeline):
            self._by_part[:] = 0
            self._more += cycles_by_part(trace.order, blocks, refills, core)
        else:
            np.add.at(self._more[:, PARTS.index(LOADS)], trace.misaligned[:, 1], _misaligned(trace, core))
        self._more[:, PARTS.index(BRANCHES)] += refills
        if flash is not None:
            self._more[:, PARTS.index(FLASH_WAITS)] = waits(trace, blocks, cycles, flash)

    def each(self) -> Numbers:
        """Returns the cycles of each executed block."""
        cycles: Numbers = self._by_part[self._order].sum(axis=1) + self._more.sum(axis=1)
        return cycles

    def cycles(self, chosen: Numbers) -> Cycles:
        """Returns the total cycles of the chosen executed blocks."""
        counts = np.bincount(self._order[chosen], minlength=len(self._lengths))
        parts = counts @ self._by_part + self._more[chosen].sum(axis=0)
        return Cycles(int(counts @ self._lengths), dict(zip(PARTS, parts.tolist(), strict=True)))


def _alone(block: Block, core: CoreTiming | CorePipeline) -> Sequence[int]:
    """Returns the cycles of a block's instructions, independent of the blocks before it."""
    return through(block, IDLE, core)[0] if isinstance(core, CorePipeline) else cycles_of(block, core)


def _misaligned(trace: Trace, timing: CoreTiming) -> Numbers:
    """Returns the extra cycles of each misaligned access."""
    costs = (timing.misaligned_half, timing.misaligned_word, timing.odd_word)
    return np.array(costs, np.int64)[trace.misaligned[:, 0]]


def _by_part(block: Block, cycles: Sequence[int]) -> list[int]:
    sums = dict.fromkeys(PARTS, 0)
    for one, each in zip(block, cycles, strict=True):
        sums[part_of(one)] += each
    return list(sums.values())
