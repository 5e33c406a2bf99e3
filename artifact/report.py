"""The report of `deploy inspect` on a compiled model: its layers, and whether it fits the memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from aot.target import BaseFirmware, Target
from artifact.facts import ModelFacts
from artifact.memory_map import BufferLife
from codegen.fit.memory_use import MemoryUse, memory_use_of
from codegen.model import LayerInfo


@dataclass(frozen=True, slots=True)
class LayerRow:
    """A layer with its costs and the rows it keeps in memory."""

    layer: LayerInfo
    output: BufferLife  # the rows it writes
    steps: int
    first_step: int
    last_step: int
    live_bytes: int  # most bytes live while this layer runs
    is_peak: bool  # the arena's peak is in one of its steps


@dataclass(frozen=True, slots=True)
class Peak:
    """The step at which most bytes are live."""

    step: int
    layer: LayerInfo
    bytes: int
    buffers: tuple[tuple[str, int], ...]  # live buffers, largest first


@dataclass(frozen=True, slots=True)
class Report:
    facts: ModelFacts
    layers: tuple[LayerRow, ...]
    peak: Peak
    memory: tuple[MemoryUse, ...]  # memories that the model uses

    @property
    def counts_firmware(self) -> bool:
        """Returns whether the memory includes firmware, or only the model."""
        return any(use.counts_firmware for use in self.memory)

    @property
    def fits(self) -> bool:
        return all(use.fits for use in self.memory)

    def lacks(self, role: str) -> bool:
        """Returns whether a memory of this role is too small."""
        return any(not use.fits for use in self.memory if use.region.role == role)

    def needed_bytes(self, role: str) -> int:
        """Returns the bytes that the model needs in all memories of this role."""
        return sum(use.needed_bytes for use in self.memory if use.region.role == role)


def make_report(
    facts: ModelFacts, target: Target | None = None, firmware: BaseFirmware | None = None
) -> Report:
    """Returns the report on fitting into `target`, with that firmware besides the model.

    Without a target it uses the one that was compiled for; without firmware it covers the model only.
    """
    memory = facts.memory
    peak = memory.peak_step
    return Report(
        facts=facts,
        layers=_layer_rows(facts),
        peak=Peak(peak, facts.layers[memory.order[peak]], memory.peak_bytes, memory.live_at(peak)),
        memory=memory_use_of(replace(facts.needs, firmware=firmware), target or facts.target),
    )


def _layer_rows(facts: ModelFacts) -> tuple[LayerRow, ...]:
    memory, peak = facts.memory, facts.memory.peak_step
    times: Mapping[int, list[int]] = defaultdict(list)
    for time, layer in enumerate(memory.order):
        times[layer].append(time)
    return tuple(_layer_row(facts, layer, times[layer.index], peak) for layer in facts.layers)


def _layer_row(facts: ModelFacts, layer: LayerInfo, times: Sequence[int], peak: int) -> LayerRow:
    return LayerRow(
        layer=layer,
        output=facts.memory.by_name[layer.output],
        steps=len(times),
        first_step=times[0],
        last_step=times[-1],
        live_bytes=max(facts.memory.live_bytes[time] for time in times),
        is_peak=peak in times,
    )
