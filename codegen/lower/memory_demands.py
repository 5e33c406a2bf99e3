"""Restricts tensors to memories that every stage that reads or writes them can access."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aot.errors import ModelError
from codegen.kernels.kernel import ANYWHERE, MemoryDemand
from codegen.lower.stages import STREAMED_ROW, LoweredStage


def demands_on_tensors(stages: Sequence[LoweredStage]) -> Mapping[str, MemoryDemand]:
    """Merges the demands on each tensor; omits tensors without any. Raises ModelError on a conflict."""
    found: dict[str, MemoryDemand] = {}
    choosers: dict[str, LoweredStage] = {}  # the last stage with a demand on a tensor's memory
    for stage in (stage for stage in stages if stage.kernel.demand != ANYWHERE):
        demand = stage.kernel.demand
        for name in dict.fromkeys((*(reading.tensor for reading in stage.reads), *stage.writes)):
            if name == STREAMED_ROW:
                continue
            before = found.get(name, ANYWHERE)
            memories = _common(before.memories, demand.memories)
            if memories is None:
                raise _irreconcilable(name, choosers[name], stage)
            if demand.memories:
                choosers[name] = stage
            found[name] = MemoryDemand(max(before.align, demand.align), memories)
    return found


def stage_label(stage: LoweredStage) -> str:
    """Names a stage for error messages: its op, its node and the accelerator."""
    return f'{stage.op} "{stage.name}" ({stage.kernel.device or stage.kernel.strategy})'


def _common(one: frozenset[str], other: frozenset[str]) -> frozenset[str] | None:
    """Returns the memories in both sets, or None if there are none. An empty set means all memories."""
    if not one or not other:
        return one or other
    return one & other or None


def _irreconcilable(tensor: str, one: LoweredStage, other: LoweredStage) -> ModelError:
    return ModelError(
        f"{stage_label(one)} and {stage_label(other)} cannot share a tensor: they reach different memories",
        f'both use the tensor "{tensor}"; the first reaches {_names(one)}, the second {_names(other)}',
    )


def _names(stage: LoweredStage) -> str:
    return ", ".join(sorted(stage.kernel.demand.memories))
