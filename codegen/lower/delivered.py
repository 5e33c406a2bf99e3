"""Outputs that are views: what they show is made where the caller wants them, and not copied there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from aot.ir.graph import Graph
from codegen.lower.stages import Lowered, LoweredStage, Reading, Result


def made_at_outputs(graph: Graph, views: Mapping[str, str]) -> dict[str, str]:
    """Maps each value computed in the run that an output shows in other rows to that output.

    A value that is an output itself, and one that another output shows already, has its place there.
    """
    found: dict[str, str] = {}
    for output in graph.outputs:
        root = views.get(output)
        if root is not None and root in graph.producers and root not in (*graph.outputs, *graph.constants):
            found.setdefault(root, output)
    return found


def called_as_outputs(lowered: Lowered, outputs: Mapping[str, str]) -> Lowered:
    """The same with tensors that are outputs' memory called by the outputs' names, as users know them."""
    if not outputs:
        return lowered

    def name_of(tensor: str) -> str:
        return outputs.get(tensor, tensor)

    def read(reading: Reading) -> Reading:
        return replace(reading, tensor=name_of(reading.tensor))

    def made(result: Result) -> Result:
        return replace(result, tensor=name_of(result.tensor))

    def renamed(stage: LoweredStage) -> LoweredStage:
        reads, others = tuple(map(read, stage.reads)), tuple(map(made, stage.others))
        return replace(stage, reads=reads, result=made(stage.result), others=others)

    tensors = {name_of(t.name): replace(t, name=name_of(t.name)) for t in lowered.tensors.values()}
    return replace(lowered, tensors=tensors, stages=tuple(map(renamed, lowered.stages)))
