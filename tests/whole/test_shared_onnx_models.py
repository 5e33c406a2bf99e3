"""Real ONNX models as C on this computer, and some on a Cortex-M4: near the golden outputs, or equal."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from model_run import NEAR, read_model

import deploy
from aot.ir.graph import Graph
from aot.ir.types import Array, DType
from aot.passes.pipeline import run_meaning
from aot.target import Target
from codegen.compile import compile_job
from codegen.job import ImportedModel, Job
from codegen.options import CompileOptions
from deploy.verification.oracles import onnx_session
from platforms.shared_library import build

SAMPLES = 3
FLOAT32 = (
    "onnx_ali_ic_f32",
    "onnx_ali_kws_f32",
    "onnx_ali_vww_f32",
    "onnx_dc_asl_mcu_f32",
    "onnx_dc_mnist_logsoftmax_f32",
    "onnx_dtln_1_lstm_f32",
    "onnx_match_dscnn_fp16",
    "onnx_ml_micro_kws_m_f32",
    "onnx_mnist8_f32",
    "onnx_o2c_lesson9_f32",
    "onnx_o2c_tfl_helloworld_f32",
    "onnx_silero_vad_16k_op15_f32",
    "onnx_tiny_ic_resnet_f32",
)
QUANTISED = ("onnx_q_ml_micro_kws_m_qop_ai_onnx", "onnx_q_tiny_ad_qdq", "onnx_q_tiny_kws_qdq")


def furthest(graph: Graph, golden: Mapping[str, Array], folder: Path) -> float:
    """The distance of the first outputs from the golden ones, as a share of the largest."""
    model = compile_job(
        Job(ImportedModel(graph, "model.onnx", "00" * 32, "model"), Target("host"), CompileOptions())
    )
    host, found = build(model.sources, folder), 0.0
    for sample in range(min(SAMPLES, len(golden["in_0"]))):
        inputs = {
            name: golden[f"in_{number}"][sample].astype(graph.types[name].dtype.numpy)
            for number, name in enumerate(graph.inputs)
        }
        made = host.run(inputs)
        for number, name in enumerate(graph.outputs):
            wanted = golden[f"out_{number}"]
            difference = made[name].astype(float).ravel() - wanted[sample].astype(float).ravel()
            found = max(found, float(np.abs(difference).max() / np.abs(wanted).max()))
    return found


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize("name", FLOAT32)
def test_a_float_model_is_near_onnx_runtime(name, shared_dir, tmp_path):
    assert furthest(*read_model(shared_dir / "models" / name, "tflm"), tmp_path) < NEAR


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize("name", QUANTISED)
def test_a_quantised_model_whose_sums_are_rounded_once_equals_onnx_runtime(name, shared_dir, tmp_path):
    assert furthest(*read_model(shared_dir / "models" / name, "onnx"), tmp_path) < 1e-6


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("name", QUANTISED)
def test_vectors_of_a_cortex_m55_give_onnx_runtime_s_outputs(name, shared_dir):
    """For the golden inputs, whose sums are what they are in use, and for inputs far from the middle."""
    path = shared_dir / "models" / name / "model.onnx"
    golden = np.load(path.parent / "golden.npz")["in_0"][:SAMPLES]
    x = np.concatenate([golden, golden + np.ptp(golden), -2 * golden])
    (made,) = deploy.run(path, x, board="mps3-an547").outputs.values()
    session = onnx_session(path.read_bytes())
    (only,) = session.get_inputs()
    for sample, output in zip(x, made, strict=True):
        (wanted,) = session.run(None, {only.name: sample})
        np.testing.assert_allclose(output.ravel(), wanted.ravel(), rtol=0, atol=1e-6 * np.abs(wanted).max())


@pytest.mark.parametrize("name", QUANTISED)
def test_layers_of_a_quantised_model_compute_with_integers(name, shared_dir):
    graph = run_meaning(read_model(shared_dir / "models" / name, "tflm")[0]).graph
    heavy = [n for n in graph.nodes if n.op.name in ("conv2d", "depthwise_conv2d", "dense", "max_pool2d")]
    assert heavy
    assert {graph.types[n.outputs[0]].dtype for n in heavy} == {DType.I8}


@pytest.mark.parametrize("name", [*FLOAT32, *QUANTISED])
def test_images_are_turned_at_the_edges_only(name, shared_dir):
    """Between the first layer over an image and the last nothing is transposed."""
    graph = run_meaning(read_model(shared_dir / "models" / name, "tflm")[0]).graph
    ops = [node.op.name for node in graph.nodes if node.op.name != "reshape"]
    places = [place for place, op in enumerate(ops) if "conv2d" in op or "pool" in op]
    if name not in TURNING and places:
        assert "rearrange" not in ops[places[0] : places[-1] + 1]
        assert not {"mul", "clamp"} & set(ops[places[0] : places[-1] + 1])


# Short-time spectra: a line of channels is read as another image; parts of a state are cut out of it.
TURNING = ("onnx_silero_vad_16k_op15_f32", "onnx_dtln_1_lstm_f32")


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.parametrize("name", ["onnx_ali_kws_f32", "onnx_q_tiny_kws_qdq"])
def test_outputs_on_a_cortex_m4_are_those_of_the_reference(name, shared_dir):
    folder = shared_dir / "models" / name
    x = np.load(folder / "golden.npz")["in_0"][:1]
    (made,) = deploy.run(folder / "model.onnx", x, board="mps2-an386").outputs.values()
    (wanted,) = deploy.load(folder / "model.onnx").run(x[0]).values()
    assert np.abs(made.ravel() - wanted.ravel()).max() <= NEAR * np.abs(wanted).max()  # type: ignore[operator]


@pytest.mark.slow
def test_a_resnet_quantized_here_gives_onnx_runtime_s_bits(shared_dir, tmp_path, require_package):
    """It has sums and a mean; ONNX Runtime run operator by operator would compute these in floats."""
    require_package("onnxruntime")
    float_model = shared_dir / "models" / "onnx_tiny_ic_resnet_f32" / "model.onnx"
    x = np.random.default_rng(0).uniform(0, 255, (12, 3, 32, 32)).astype(np.float32)
    np.savez(tmp_path / "samples.npz", input_1=x)
    deploy.quantize(float_model, tmp_path / "samples.npz", tmp_path / "int8.onnx")
    model, session = deploy.load(tmp_path / "int8.onnx"), onnx_session((tmp_path / "int8.onnx").read_bytes())
    for sample in x[:, np.newaxis]:
        (made,) = model.run(sample).values()
        np.testing.assert_array_equal(made.ravel(), session.run(None, {"input_1": sample})[0].ravel())
