"""Compares the outputs of a standalone program with the reference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aot.interpret import run_graph
from aot.ir.tensor_spec import TensorSpec
from aot.ir.types import Array
from artifact.artifact import Artifact
from deploy.verification.compare_layers import differences


def differs_from_reference(artifact: Artifact, samples: Sequence[Sequence[Array]], outputs: bytes) -> bool:
    """Returns whether the outputs differ from the graph's, each on a first run."""
    graph, specs = artifact.graph, [TensorSpec(t.name, t.type) for t in artifact.facts.outputs]
    names = [tensor.name for tensor in artifact.facts.inputs]
    runs = (run_graph(graph, dict(zip(names, sample, strict=True))) for sample in samples)
    expected = [tuple(run[spec.name].reshape(spec.shape) for spec in specs) for run in runs]
    found, at = [], 0
    for _ in samples:
        arrays = []
        for spec in specs:
            arrays.append(np.frombuffer(outputs, spec.dtype, spec.type.elements, at).reshape(spec.shape))
            at += spec.type.bytes
        found.append(tuple(arrays))
    return bool(differences(expected, found, specs))
