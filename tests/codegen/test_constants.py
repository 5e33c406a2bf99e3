"""Constants are the weights that can matter, biases and requantisation tables, and hardly anything else."""

from __future__ import annotations

from pathlib import Path

import pytest
from model_checks import DSP, OPTIONS

from aot.ir.graph import Graph, Node
from codegen.compile import compile_job
from codegen.fit.plan_job import plan_job
from codegen.job import read_job

MODELS = ("tiny_ad_fc_int8", "tiny_ic_resnet8_int8", "tiny_kws_dscnn_int8", "tiny_vww_mbv1_int8")
WEIGHTED = {"conv2d", "conv2d+add", "dense", "depthwise_conv2d"}
PER_CHANNEL = 4 + 4 + 2  # bytes: bias, multiplier, and an addend or a shift
MOST = 1.03  # what packing may add


def needed_bytes(graph: Graph) -> int:
    return sum(_needed_by(graph, node) for node in graph.nodes if node.op.name in WEIGHTED)


def _needed_by(graph: Graph, node: Node) -> int:
    weights, channels = graph.types[node.inputs[1] or ""], graph.types[node.outputs[0]].shape[-1]
    return weights.bytes + channels * PER_CHANNEL


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_constants_are_little_more_than_the_live_weights_and_tables(name: str, shared_dir: Path) -> None:
    job = read_job(shared_dir / "models" / name / "model.tflite", DSP, OPTIONS["speed"])
    transformed = sum(stage.kernel.extra_bytes for stage in plan_job(job).lowered.stages)
    model = compile_job(job)
    most = needed_bytes(model.graph) * MOST + transformed
    assert model.constants_bytes <= most  # less where tables are equal


@pytest.mark.slow
def test_dead_weights_are_not_counted_as_needed(shared_dir: Path) -> None:
    model = compile_job(
        read_job(shared_dir / "models/tiny_vww_mbv1_int8/model.tflite", DSP, OPTIONS["speed"])
    )
    assert needed_bytes(model.graph) < 40_000 < 219_072  # what the file holds
