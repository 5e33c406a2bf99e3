"""Recurrent classifiers of 200 steps as C: near ONNX Runtime, of few layers, small and quick to compile."""

import numpy as np
import pytest
from model_checks import DSP, compiled
from model_run import NEAR
from onnx_oracle import run_onnx
from recurrent_models import GATES, recurrent_classifier
from unrolled_models import lstm

import deploy
from aot.frontend.load import parse_model
from aot.frontend.onnx.read import read_onnx
from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.ir.types import Array
from aot.target import Target
from codegen.options import CompileOptions
from platforms.shared_library import build

STEPS = 200
WAYS = ("forward", "reverse", "bidirectional")
FILES = [(kind, way) for kind in GATES for way in WAYS]
LAYERS, ARENA_BYTES, CODE_BYTES = 25, 4096, 12 * 1024


def sequence(steps: int = STEPS) -> Array:
    return np.random.default_rng(1).standard_normal((steps, 1, 32)).astype(np.float32)


def classifier(kind: str, way: str) -> tuple[bytes, Graph]:
    data = recurrent_classifier(kind, direction=way)
    return data, read_onnx(data, "net.onnx")


@pytest.mark.parametrize(("kind", "way"), FILES)
def test_steps_cost_neither_layers_nor_memory(kind, way):
    model = compiled(classifier(kind, way)[1], DSP, CompileOptions(caller_owns_io=True), "net")
    assert len(model.layers) <= LAYERS
    assert model.plan.arena_bytes <= ARENA_BYTES
    assert model.code_bytes_estimate <= CODE_BYTES


def test_a_layer_that_is_written_out_keeps_one_step():
    graph = parse_model(lstm().bytes(), "net.onnx")
    model = compiled(graph, DSP, CompileOptions(), "net")
    (steps,) = (b for b in model.plan.buffers.values() if b.name.endswith("/steps"))
    assert steps.rows_held == 1


@pytest.mark.cc
@pytest.mark.parametrize(("kind", "way"), FILES)
def test_a_sequence_through_c_gives_what_onnx_runtime_gives(kind, way, tmp_path):
    data, graph = classifier(kind, way)
    host = build(compiled(graph, Target("host"), CompileOptions(), "net").sources, tmp_path)
    (wanted,) = run_onnx(data, {"x": sequence()})
    for _ in range(2):  # no state is left from the run before
        host.arenas[0][:] = 0xA5
        assert np.allclose(host.run({"x": sequence()})["y"], wanted, rtol=0, atol=1e-5)


@pytest.mark.cc
def test_a_sequence_can_be_pushed_step_by_step(tmp_path):
    data, graph = classifier("GRU", "forward")
    model = compiled(graph, Target("host"), CompileOptions(stream=True), "net")
    assert model.plan.arena_bytes <= ARENA_BYTES
    made = build(model.sources, tmp_path).run({"x": sequence()[None]})["y"]
    assert np.allclose(made, run_onnx(data, {"x": sequence()})[0], rtol=0, atol=1e-5)


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.parametrize("kind", GATES)
def test_a_sequence_on_a_cortex_m4_gives_what_the_reference_gives(kind, tmp_path):
    data, graph = classifier(kind, "bidirectional")
    file = tmp_path / "net.onnx"
    file.write_bytes(data)
    (made,) = deploy.run(file, sequence()[None], board="mps2-an386").outputs.values()
    wanted = run_graph(graph, {"x": sequence()})["y"]
    assert np.abs(made.ravel() - wanted.ravel()).max() <= NEAR * np.abs(wanted).max()  # type: ignore[operator]
