"""Writes values that outputs alias directly into the output buffer, instead of copying them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from aot.ir.graph import Graph
from codegen.lower.stages import Lowered, LoweredStage, Reading, Result


def made_at_outputs(graph: Graph, views: Mapping[str, str]) -> dict[str, str]:
    """Maps each computed value that a reshaped output aliases to that output.

    Skips values that are outputs themselves, and all but the first output of a value.
    """
    found: dict[str, str] = {}
    for output in graph.outputs:
        root = views.get(output)
        if root is not None and root in graph.producers and root not in (*graph.outputs, *graph.constants):
            found.setdefault(root, output)
    return found


def called_as_outputs(lowered: Lowered, outputs: Mapping[str, str]) -> Lowered:
    """Returns `lowered` with these tensors renamed to their outputs, the names that users know."""
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
