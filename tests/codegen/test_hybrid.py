"""Dense layers on floats whose weights have 8 bits: bytes in flash, sums of floats."""

import numpy as np
import pytest
from model_checks import PLAIN
from tflite_builder import ModelBuilder

from aot.frontend.tflite.read import read_tflite
from aot.frontend.tflite.write_file import FileTensor
from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.ir.types import DType
from aot.passes.pipeline import run_meaning
from codegen.compile import compile_job
from codegen.job import ImportedModel, Job
from codegen.options import CompileOptions
from platforms.shared_library import build

OUTPUTS, RNG_SEED = 5, 4
SCALES = {"one scale": [0.01], "a scale for each row": [0.01, 0.02, 0.03, 0.04, 0.05]}


def hybrid(scales: list[float], zero_point: int = 0, factor: float | None = None) -> Graph:
    """An image, a ReLU, a dense layer over all of it; a multiplication where there is a factor."""
    rng, build = np.random.default_rng(RNG_SEED), ModelBuilder()
    x = build.input("x", (1, 4, 3, 2), dtype="float32")
    image = build.operator("RELU", 1, (x,), [FileTensor("relu", (1, 4, 3, 2), "float32")])
    weights = rng.integers(-127, 128, (OUTPUTS, 24)).astype(np.int8)
    w = build.constant("w", weights, scales, 0, [zero_point] * len(scales))
    b = build.constant("b", rng.standard_normal(OUTPUTS).astype(np.float32))
    made = [FileTensor("y", (1, OUTPUTS), "float32")]
    y = build.operator("FULLY_CONNECTED", 3, (image, w, b), made, "FullyConnectedOptions")
    if factor is not None:
        by = build.constant("by", np.array([factor], np.float32))
        y = build.operator("MUL", 2, (y, by), [FileTensor("z", (1, OUTPUTS), "float32")], "MulOptions")
    return read_tflite(build.finish(y), "hybrid.tflite")


def weight_type(graph: Graph) -> DType:
    (dense,) = (node for node in graph.nodes if node.op.name == "dense")
    return graph.types[dense.inputs[1] or ""].dtype


@pytest.mark.parametrize("scales", SCALES)
def test_symmetric_weights_stay_bytes(scales):
    assert weight_type(run_meaning(hybrid(SCALES[scales])).graph) is DType.I8


def test_weights_with_a_zero_point_become_real():
    assert weight_type(run_meaning(hybrid([0.01], zero_point=3)).graph) is DType.F32


def test_a_factor_is_not_folded_into_bytes():
    graph = hybrid([0.01], factor=3.0)
    folded, x = (
        run_meaning(graph).graph,
        np.random.default_rng(1).standard_normal((1, 4, 3, 2)).astype(np.float32),
    )
    assert weight_type(folded) is DType.I8
    assert np.allclose(run_graph(folded, {"x": x})["z"], run_graph(graph, {"x": x})["z"], rtol=1e-6)


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize("scales", SCALES)
def test_rows_of_an_image_are_added_as_they_come(scales, tmp_path):
    graph = hybrid(SCALES[scales])
    model = compile_job(Job(ImportedModel(graph, "hybrid", "00" * 32, "hybrid"), PLAIN, CompileOptions()))
    assert [layer.kernel for layer in model.layers] == ["plain", "reals-by-rows"]
    host = build(model.sources, tmp_path)
    for seed in range(3):
        x = np.random.default_rng(seed).standard_normal((1, 4, 3, 2)).astype(np.float32)
        wanted = run_graph(graph, {"x": x})["y"]
        host.arenas[0][:] = 0xA5
        assert np.abs(host.run({"x": x})["y"] - wanted).max() <= 1e-5 * np.abs(wanted).max()  # type: ignore[operator]
