"""deploy quantize: a float ONNX model becomes int8, on request also at its ends; the cost is reported."""

import json
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from error_facts import require_facts
from onnx import helper, numpy_helper
from onnx_files import onnx_file
from small_float_net import small_net
from tflite_builder import ModelBuilder

from aot.frontend.declared import InputOverrides
from aot.frontend.load import load_model
from aot.frontend.tflite.write_file import FileTensor
from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.ir.types import DType
from deploy.verification.oracles import onnx_session

SAMPLES = 24
Deploy = Callable[..., Any]


@pytest.fixture(autouse=True)
def _needs_onnxruntime(require_package):
    require_package("onnxruntime")


@pytest.fixture
def float_model(tmp_path):
    return small_net(tmp_path / "small.onnx")


def images() -> np.ndarray[Any, Any]:
    return np.random.default_rng(4).normal(size=(SAMPLES, 2, 8, 8)).astype(np.float32)


def classes(model: Path) -> np.ndarray[Any, Any]:
    session = onnx_session(model.read_bytes())
    return np.array([session.run(None, {"x": image[None]})[0].argmax() for image in images()])


@pytest.fixture
def data(tmp_path, float_model):
    path = tmp_path / "calib.npz"
    np.savez(path, x=images(), labels=classes(float_model))
    return path


@pytest.mark.parametrize("method", ["minmax", "percentile", "entropy"])
def test_an_int8_model_is_written_and_its_layers_are_compared(
    method, float_model, data, tmp_path, run_deploy
):
    out = tmp_path / "int8.onnx"
    said = run_deploy("quantize", float_model, "--data", data, "-o", out, "--method", method, "--json")
    assert said.status == 0, said.err
    facts = json.loads(said.out)
    assert [layer["op"] for layer in facts["layers"]] == ["Relu", "GlobalAveragePool", "Flatten", "Gemm"]
    assert all(layer["signal_to_noise_db"] > 10 for layer in facts["layers"])
    assert facts["float_right"] == 1.0
    assert facts["int8_right"] == float((classes(out) == np.load(data)["labels"]).mean())


def test_an_untrained_normalization_with_merged_vectors_is_quantized(data, tmp_path, run_deploy):
    """Exporters merge its equal scale and variance, and bias and mean."""
    nodes = [
        helper.make_node("BatchNormalization", ["x", "ones", "zeros", "zeros", "ones"], ["norm"]),
        helper.make_node("Relu", ["norm"], ["relu"]),
        helper.make_node("Conv", ["relu", "w"], ["y"]),
    ]
    constants = {"ones": np.ones(2), "zeros": np.zeros(2), "w": np.full((3, 2, 8, 8), 0.1)}
    path = tmp_path / "untrained.onnx"
    path.write_bytes(onnx_file(nodes, {"x": (1, 2, 8, 8)}, {"y": (1, 3, 1, 1)}, constants, opset=13))
    np.savez(tmp_path / "x.npz", x=images())
    out = tmp_path / "int8.onnx"
    said = run_deploy("quantize", path, "--data", tmp_path / "x.npz", "-o", out, "--refine")
    assert said.status == 0, said.err
    (expected,), (found,) = (
        onnx_session(model.read_bytes()).run(None, {"x": images()[:1]}) for model in (path, out)
    )
    assert np.abs(found - expected).max() < 0.05 * np.abs(expected).max()


def test_a_detector_has_no_classes_to_compare(tmp_path, run_deploy):
    """Its largest number is that of some box."""
    node = helper.make_node("Conv", ["x", "w"], ["boxes"])
    ends, weights = ({"x": (1, 2, 8, 8)}, {"boxes": (1, 3, 8, 8)}), {"w": np.ones((3, 2, 1, 1))}
    (tmp_path / "boxes.onnx").write_bytes(onnx_file([node], *ends, weights, 13, 7))
    np.savez(tmp_path / "c.npz", x=images())
    words = ("quantize", tmp_path / "boxes.onnx", "--data", tmp_path / "c.npz", "-o", tmp_path / "q.onnx")
    assert "same class" not in run_deploy(*words).out
    assert json.loads(run_deploy(*words, "--json").out)["same_class"] is None


def test_too_few_samples_are_warned_of(float_model, tmp_path, run_deploy):
    warnings = []
    for count in (1, 9, 10):
        np.savez(tmp_path / "c.npz", x=images()[:count])
        said = run_deploy("quantize", float_model, "--data", tmp_path / "c.npz", "-o", tmp_path / "q.onnx")
        warnings.append(said.out.splitlines()[1].partition(" little")[0])
    assert warnings == ["warning: one sample shows", "warning: 9 samples show", ""]


@pytest.mark.slow
def test_the_runtime_does_not_speak_of_what_it_removes_itself(shared_dir, tmp_path):
    path = shared_dir / "models" / "onnx_ulfd_slim320_f32" / "model.onnx"
    np.savez(tmp_path / "c.npz", input=np.zeros((1, 3, 240, 320), np.float32))
    words = ("quantize", path, "--data", tmp_path / "c.npz", "-o", tmp_path / "q.onnx")
    argv = [sys.executable, "-m", "deploy", *map(str, words)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert "Removing initializer" not in done.stderr


def test_weights_have_a_scale_for_each_channel(float_model, data, tmp_path, run_deploy):
    out = tmp_path / "int8.onnx"
    assert run_deploy("quantize", float_model, "--data", data, "-o", out).status == 0
    constants = {c.name: numpy_helper.to_array(c) for c in onnx.load(out).graph.initializer}
    weights = {name: value for name, value in constants.items() if value.shape == (6, 2, 3, 3)}
    ((name, value),) = weights.items()
    assert value.dtype == np.int8
    assert constants[name.replace("_quantized", "_scale")].shape == (6,)


def test_an_old_model_is_lifted_to_an_opset_that_knows_channels(data, tmp_path, run_deploy):
    old = small_net(tmp_path / "old.onnx", opset=9)
    said = run_deploy("quantize", old, "--data", data, "-o", tmp_path / "int8.onnx")
    assert said.status == 0, said.err
    assert "same class as float  " in said.out
    assert "right, int8          " in said.out


def test_a_file_of_the_first_onnx_is_quantised(data, tmp_path, run_deploy):
    """Whose constants are inputs, too: from others, types of quantised values would not be inferred."""
    old = small_net(tmp_path / "old.onnx", opset=8, ir_version=3)
    out = tmp_path / "int8.onnx"
    said = run_deploy("quantize", old, "--data", data, "-o", out)
    assert said.status == 0, said.err
    assert "right, int8          " in said.out
    assert [entry.name for entry in onnx.load(out).graph.input] == ["x"]


def test_a_quantised_model_is_not_quantised_again(float_model, data, tmp_path, run_deploy):
    out = tmp_path / "int8.onnx"
    run_deploy("quantize", float_model, "--data", data, "-o", out)
    said = run_deploy("quantize", out, "--data", data, "-o", tmp_path / "again.onnx")
    assert said.status == 1
    assert said.err.startswith("error: the model is already quantized: it has a ")
    assert "hint: compile it as it is" in said.err


def test_a_model_that_takes_integers_is_not_quantised_again(float_model, data, tmp_path, run_deploy):
    out = tmp_path / "int8.onnx"
    run_deploy("quantize", float_model, "--data", data, "-o", out, "--io-type", "int8")
    said = run_deploy("quantize", out, "--data", data, "-o", tmp_path / "again.onnx")
    assert said.status == 1
    assert said.err.startswith("error: the model is already quantized: it has a ")


def test_samples_that_hold_no_numbers_are_reported(float_model, tmp_path, run_deploy):
    broken = images()
    broken[3, 0, :2] = np.nan
    np.savez(tmp_path / "calib.npz", x=broken)
    said = run_deploy("quantize", float_model, "--data", tmp_path / "calib.npz", "-o", tmp_path / "int8.onnx")
    assert said.status == 1
    require_facts(said.err, '"x" 16 3 NaN values sample infinite calib.npz remove')


@pytest.mark.parametrize("name", ["int8.onnx", "int8.tflite"])
def test_only_an_earlier_result_is_written_over(name, float_model, data, tmp_path, run_deploy):
    for _ in range(2):
        assert run_deploy("quantize", float_model, "--data", data, "-o", tmp_path / name).status == 0
    float_bytes = float_model.read_bytes()
    (tmp_path / "other.tflite").write_bytes(b"TFL3")
    for there in (float_model, tmp_path / "other.tflite"):
        said = run_deploy("quantize", float_model, "--data", data, "-o", there)
        assert said.status == 1
        assert "the file exists and is not a model that was quantized before" in said.err
    assert float_model.read_bytes() == float_bytes


def test_labels_must_be_as_many_as_samples(float_model, tmp_path, run_deploy):
    data = tmp_path / "calib.npz"
    np.savez(data, x=images(), labels=np.zeros(5))
    said = run_deploy("quantize", float_model, "--data", data, "-o", tmp_path / "int8.onnx")
    assert said.status == 1
    assert f'error: "labels" has shape [5], for {SAMPLES} samples\n  calib.npz\n' in said.err


def test_only_the_batch_may_be_open(data, tmp_path, run_deploy):
    open_model = small_net(tmp_path / "open.onnx", shape=("n", 2, "h", 8))
    said = run_deploy("quantize", open_model, "--data", data, "-o", tmp_path / "int8.onnx")
    assert said.status == 1
    assert "only the first dimension may be open\n  open.onnx\n" in said.err
    assert "hint: set its sizes: --shape x=1,2,1,8" in said.err


@pytest.mark.parametrize("suffix", ["onnx", "tflite"])
def test_open_sizes_are_given_and_are_fixed_in_the_result(suffix, data, tmp_path, run_deploy):
    open_model, out = small_net(tmp_path / "open.onnx", shape=("n", 2, "h", 8)), tmp_path / f"int8.{suffix}"
    said = run_deploy("quantize", open_model, "--data", data, "-o", out, "--shape", "x=1,2,8,8")
    assert said.status == 0, said.err
    assert [load_model(out).types[name].elements for name in load_model(out).inputs] == [2 * 8 * 8]


OPEN = "\n  open.onnx\n  hint: give a size for each open dimension, and keep the others\n"


@pytest.mark.parametrize(
    ("shape", "says"),
    [
        ("x=1,3,8,8", f"shape [1, 3, 8, 8] for input \"x\" does not fit ['n', 2, 'h', 8]{OPEN}"),
        ("x=1,2,8", f"shape [1, 2, 8] for input \"x\" does not fit ['n', 2, 'h', 8]{OPEN}"),
        ("z=1", 'there is no input "z"\n  open.onnx\n  hint: inputs: x\n'),
    ],
)
def test_sizes_that_do_not_fit_are_reported(shape, says, data, tmp_path, run_deploy):
    open_model = small_net(tmp_path / "open.onnx", shape=("n", 2, "h", 8))
    said = run_deploy("quantize", open_model, "--data", data, "-o", tmp_path / "a.onnx", "--shape", shape)
    assert said.status == 1
    assert said.err == f"error: {says}"


def float_tflite(path: Path) -> Path:
    """A convolution with a clamp, a mean and a classifier, as a float TFLite file."""
    rng = np.random.default_rng(8)
    build = ModelBuilder()

    def constant(name: str, *shape: int) -> str:
        return build.constant(name, rng.normal(size=shape).astype(np.float32))

    x = build.input("x", (1, 8, 8, 3), dtype="float32")
    inputs = (x, constant("w", 4, 3, 3, 3), constant("b", 4))
    image = build.operator(
        "CONV_2D", 1, inputs, [FileTensor("image", (1, 4, 4, 4), "float32")], "Conv2DOptions",
        Padding=0, StrideH=2, StrideW=2, DilationHFactor=1, DilationWFactor=1, FusedActivationFunction=3,
    )  # fmt: skip
    axes = build.constant("axes", np.array([1, 2], np.int32))
    mean = build.operator("MEAN", 1, (image, axes), [FileTensor("mean", (1, 4), "float32")], "ReducerOptions")
    inputs = (mean, constant("v", 3, 4), constant("c", 3))
    y = build.operator(
        "FULLY_CONNECTED", 1, inputs, [FileTensor("y", (1, 3), "float32")], "FullyConnectedOptions"
    )
    path.write_bytes(build.finish(y))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("io_type", ["float32", "int8"])
def test_a_float_tflite_model_is_quantised_too(tmp_path, run_deploy, io_type):
    model = float_tflite(tmp_path / "net.tflite")
    rng = np.random.default_rng(9)
    np.savez(tmp_path / "data.npz", x=rng.normal(size=(16, 1, 8, 8, 3)).astype(np.float32))
    for name in ("int8.onnx", "int8.tflite"):
        if name.endswith("tflite") and io_type == "float32":
            continue
        words = ("--data", tmp_path / "data.npz", "-o", tmp_path / name, "--io-type", io_type)
        assert run_deploy("quantize", model, *words).status == 0
        layers = [node.op.name for node in load_model(tmp_path / name).nodes]
        assert layers.count("conv2d") == layers.count("dense") == 1
        assert ("quantize" in layers) == (io_type == "float32")
        said = run_deploy("verify", tmp_path / name, "--board", "host")
        assert said.status == 0
        assert "returns the same outputs, " + ("in every bit" if io_type == "int8" else "within") in said.out
    if io_type == "int8":
        again = run_deploy(
            "quantize", tmp_path / "int8.tflite", "--data", tmp_path / "data.npz", "-o", tmp_path / "a.onnx"
        )
        require_facts(again.err, "the model is already quantized int8.tflite compile")


def test_a_checkpoint_is_told_how_it_is_exported(tmp_path, run_deploy):
    (tmp_path / "kws.pt").write_bytes(b"PK")
    said = run_deploy("quantize", tmp_path / "kws.pt", "--data", "calib.npz", "-o", tmp_path / "a.tflite")
    require_facts(said.err, "TFLite ONNX 2 bytes kws.pt torch.onnx.export(")


def test_a_missing_model_is_named(tmp_path, run_deploy):
    said = run_deploy("quantize", tmp_path / "none.onnx", "--data", tmp_path / "none.npz", "-o", "a.onnx")
    assert said.status == 1
    assert f"{tmp_path}/none.onnx" in said.err


def test_another_format_is_refused_before_anything_is_read(tmp_path, run_deploy):
    said = run_deploy("quantize", tmp_path / "none.onnx", "--data", tmp_path / "none.npz", "-o", "a.h5")
    assert said.status == 1
    assert "error: the int8 model must be .onnx or .tflite, not .h5\n" in said.err
    assert "hint: -o a.onnx or -o a.tflite" in said.err


def test_written_as_tflite_the_model_is_the_same_integers(
    float_model, data, tmp_path, run_deploy, require_package
):
    """Both files are read alike in every bit; LiteRT runs the second, with its own rounding."""
    require_package("ai_edge_litert")
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    for name in ("int8.onnx", "int8.tflite"):
        assert run_deploy("quantize", float_model, "--data", data, "-o", tmp_path / name).status == 0
    overrides = InputOverrides({"x": (1, 2, 8, 8)})
    onnx_graph = load_model(tmp_path / "int8.onnx", overrides=overrides)
    tflite_graph = load_model(tmp_path / "int8.tflite")
    kernels = OpResolverType.BUILTIN_REF
    litert = Interpreter(str(tmp_path / "int8.tflite"), experimental_op_resolver_type=kernels)
    litert.allocate_tensors()
    step = max(t.quant.scale for t in tflite_graph.types.values() if t.quant and not t.quant.is_per_channel)
    for image in images():
        (first,) = run_graph(onnx_graph, {"x": image[None]}).values()
        (second,) = run_graph(tflite_graph, {tflite_graph.inputs[0]: image[None]}).values()
        assert np.array_equal(first, second)
        litert.set_tensor(litert.get_input_details()[0]["index"], image[None])
        litert.invoke()
        assert np.abs(litert.get_tensor(litert.get_output_details()[0]["index"]) - first).max() <= 2 * step


def test_a_missing_runtime_is_named_with_the_way_to_get_it(
    float_model, data, tmp_path, run_deploy, monkeypatch
):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    said = run_deploy("quantize", float_model, "--data", data, "-o", tmp_path / "int8.onnx")
    assert said.status == 1
    assert "hint: pip install 'solder-mcu[quantize]'" in said.err


IMAGES = np.random.default_rng(3).normal(size=(16, 2, 8, 8)).astype(np.float32)
OVERRIDES = InputOverrides({"x": (1, 2, 8, 8)})


def network(path: Path, last: str = "Softmax") -> Path:
    """Convolutions, a residual sum, pools, a classifier of three."""
    weights = {"w": (6, 2, 3, 3), "deep": (6, 1, 3, 3), "dense": (6, 3), "bias": (3,)}
    rng = np.random.default_rng(4)
    constants = {name: rng.normal(size=size).astype(np.float32) for name, size in weights.items()}
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["conv"], pads=[1] * 4),
        helper.make_node("Relu", ["conv"], ["relu"]),
        helper.make_node("Conv", ["relu", "deep"], ["deeper"], group=6, pads=[1] * 4),
        helper.make_node("Add", ["deeper", "relu"], ["sum"]),
        helper.make_node("MaxPool", ["sum"], ["pool"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("GlobalAveragePool", ["pool"], ["mean"]),
        helper.make_node("Flatten", ["mean"], ["flat"]),
        helper.make_node("Gemm", ["flat", "dense", "bias"], ["scores"]),
        helper.make_node(last, ["scores"], ["y"]),
    ]
    path.write_bytes(onnx_file(nodes, {"x": ("n", 2, 8, 8)}, {"y": ("n", 3)}, constants, opset=13))
    return path


def quantised(folder: Path, suffix: str, io: str, run_deploy: Deploy) -> tuple[Path, dict[str, Any]]:
    np.savez(folder / "calib.npz", x=IMAGES)
    out = folder / f"{io}.{suffix}"
    words = ("--data", folder / "calib.npz", "-o", out, "--io-type", io, "--json")
    said = run_deploy("quantize", network(folder / "net.onnx"), *words)
    assert said.status == 0, said.err
    return out, json.loads(said.out)


def loaded(path: Path) -> Graph:
    return load_model(path, overrides=OVERRIDES) if path.suffix == ".onnx" else load_model(path)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["onnx", "tflite"])
def test_integer_ends_leave_no_float_and_give_the_same(suffix, tmp_path, run_deploy):
    inside, facts = quantised(tmp_path, suffix, "int8", run_deploy)
    outside, _ = quantised(tmp_path, suffix, "float32", run_deploy)
    integers, reals = loaded(inside), loaded(outside)
    assert not [name for name, tensor in integers.types.items() if tensor.dtype is DType.F32]
    ((x, y), (z,)) = ([reals.inputs[0], integers.inputs[0]], integers.outputs)
    quant = integers.types[y].quant
    assert quant is not None
    assert integers.types[z].quant == reals.types[reals.nodes[-1].reads[0]].quant
    assert [(edge["name"], edge["zero_point"]) for edge in facts["edges"]][1] == ("y", -128)
    for image in IMAGES[:4, None]:
        stored = np.rint(image / np.float32(quant.scale)) + quant.zero_point
        (found,) = run_graph(integers, {y: stored.clip(-128, 127).astype(np.int8)}).values()
        (wanted,) = run_graph(reals, {x: image}).values()
        assert np.array_equal((found.astype(np.float32) + 128) / 256, wanted)


def test_a_logarithm_of_a_softmax_is_computed_with_integers(tmp_path, run_deploy):
    """In steps of a sixteenth; what is less than the largest by more than 16 is lost in them."""
    np.savez(tmp_path / "calib.npz", x=IMAGES)
    out = tmp_path / "a.tflite"
    words = ("--data", tmp_path / "calib.npz", "-o", out, "--io-type", "int8")
    said = run_deploy("quantize", network(tmp_path / "net.onnx", last="LogSoftmax"), *words)
    assert said.status == 0, said.err
    graph = load_model(out)
    assert {tensor.dtype for tensor in graph.types.values()} & {DType.F32} == set()
    last = graph.types[graph.outputs[0]].quant
    assert graph.nodes[-1].op.name == "log_softmax"
    assert (last is not None and last.scale, last is not None and last.zero_point) == (1 / 16, 127)


def test_an_end_in_floats_is_named(tmp_path, run_deploy):
    np.savez(tmp_path / "calib.npz", x=IMAGES)
    words = ("--data", tmp_path / "calib.npz", "-o", tmp_path / "a.onnx", "--io-type", "int8")
    said = run_deploy("quantize", network(tmp_path / "net.onnx", last="Softplus"), *words)
    assert said.status == 1
    require_facts(said.err, '"y" int8 Softplus output computed floats net.onnx --io float32')


@pytest.mark.arm
@pytest.mark.qemu
def test_a_board_computes_a_quantised_network_without_a_float(tmp_path, run_deploy):
    out, _ = quantised(tmp_path, "tflite", "int8", run_deploy)
    said = run_deploy("verify", out, "--board", "mps2-an386", "--layers")
    assert said.status == 0, said.err
    assert "layers equal to the reference in every bit" in said.out
    archive = tmp_path / "net.tar"
    assert run_deploy("compile", out, "--board", "mps2-an386", "-o", archive).status == 0
    with tarfile.open(archive) as files:
        sources = [name for name in files.getnames() if "/src/" in name]
        texts = [files.extractfile(name).read().decode() for name in sources]  # type: ignore[union-attr]
    assert texts
    assert not [name for name, text in zip(sources, texts, strict=True) if "float" in text]
