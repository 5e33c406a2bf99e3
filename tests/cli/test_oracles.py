"""`deploy verify --oracle`: runtimes of other people's judge, so that the reference is not its own judge."""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from error_facts import require_facts
from onnx import TensorProto, helper
from onnx_files import info, onnx_file
from tflite_builder import ModelBuilder

import deploy
from aot.errors import InputError
from aot.frontend.tflite.write_file import FileTensor
from aot.interpret import run_graph
from aot.ir.tensor_spec import TensorSpec
from aot.ir.types import Array, DType, TensorType
from deploy.inputs.samples import random_samples
from deploy.verification import oracles

pytestmark = pytest.mark.cc


@pytest.fixture
def onnx_model(tmp_path):
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    path = tmp_path / "product.onnx"
    weights = {"w": np.linspace(-1, 1, 12).reshape(4, 3)}
    path.write_bytes(onnx_file([node], {"x": [1, 4]}, {"y": [1, 3]}, weights))
    return path


@pytest.mark.parametrize(
    ("oracle", "module", "rounding", "title"),
    [
        ("litert", "ai_edge_litert", "litert-ref", "LiteRT"),
        ("tflm", "tflite_micro", "tflm", "TensorFlow Lite Micro"),
    ],
)
def test_a_runtime_for_tflite_gives_the_same_bits(
    oracle, module, rounding, title, model, run_deploy, require_package
):
    require_package(module)
    outcome = run_deploy("verify", model, "--board", "host", "--oracle", oracle, "--rounding", rounding)
    assert outcome.status == 0, outcome.err
    assert f"\n{title} " in outcome.out
    assert "returns the same outputs, in every bit" in outcome.out


def test_onnx_runtime_gives_the_same_numbers(onnx_model, run_deploy, require_package):
    require_package("onnxruntime")
    outcome = run_deploy("verify", onnx_model, "--board", "host", "--oracle", "ort")
    assert outcome.status == 0, outcome.err
    assert "returns the same outputs, within 1e-05 of the largest" in outcome.out


@pytest.mark.parametrize("given", [(), ("--shape", "z=2")])
def test_onnx_runtime_gets_sequences_and_what_is_there(given, tmp_path, run_deploy, require_package):
    require_package("onnxruntime")
    plain = helper.make_tensor_type_proto(TensorProto.FLOAT, [2])
    kinds = {"x": helper.make_sequence_type_proto(plain), "z": helper.make_optional_type_proto(plain)}
    made = helper.make_tensor_value_info("there", TensorProto.BOOL, [])
    nodes = [
        helper.make_node("OptionalHasElement", ["z"], ["there"]),
        helper.make_node("Identity", ["x"], ["y"]),
    ]
    infos = [helper.make_value_info(*pair) for pair in kinds.items()]
    path = tmp_path / "list.onnx"
    path.write_bytes(onnx_file(nodes, infos, [made, helper.make_value_info("y", kinds["x"])], opset=18))
    words = ("verify", path, "--board", "host", "--oracle", "ort", "--shape", "x=3", *given)
    outcome = run_deploy(*words)
    assert outcome.status == 0, outcome.err
    assert "returns the same outputs" in outcome.out


SATURATING = 64  # products of a sum: the largest ones, of which two exceed 16 bits


def product(operator: str, is_known: bool = True) -> bytes:
    """A file whose sums of uint8 x int8 saturate in 16 bits; weights are constants, or come at run time."""
    places = {
        "DynamicQuantizeMatMul": ("x", "w", "one"),
        "MatMulInteger": ("x", "w"),
        "MatMulIntegerToFloat": ("x", "w", "one", "one"),
        "QGemm": ("x", "one", "zero", "w", "one", "low", "", "wide", "zero"),
        "QLinearConv": ("x", "one", "zero", "w", "one", "low", "wide", "zero"),
        "QLinearMatMul": ("x", "one", "zero", "w", "one", "low", "wide", "zero"),
    }[operator]
    is_standard = operator in {"MatMulInteger", "QLinearConv", "QLinearMatMul"}
    node = helper.make_node(operator, [*places], ["y"], domain="" if is_standard else "com.microsoft")
    kind = TensorProto.FLOAT if operator.startswith("Dynamic") else TensorProto.UINT8
    (x_shape, w_shape), weights = operands(operator)
    tensors = {
        "one": np.float32(1),
        "wide": np.float32(20_000),
        "zero": np.uint8(0),
        "low": np.int8(-3),
        **({"w": weights} if is_known else {}),
    }
    inputs = [info("x", *x_shape, element=kind)]
    inputs += [] if is_known else [info("w", *w_shape, element=TensorProto.INT8)]
    held = {name: array for name, array in tensors.items() if name in places}
    return onnx_file([node], inputs, constants=held, opset=13)


def operands(operator: str) -> tuple[tuple[tuple[int, ...], ...], Array]:
    """The shapes of both operands, and weights of which most are the largest."""
    shapes: tuple[tuple[int, ...], ...] = ((2, SATURATING), (SATURATING, 4))
    if operator == "QLinearConv":
        shapes = ((1, SATURATING, 2, 1), (4, SATURATING, 1, 1))
    weights = np.where(np.arange(4 * SATURATING) % 5 < 4, 127, -128).astype(np.int8)
    return shapes, weights.reshape(shapes[1])


OPERATORS = (
    "DynamicQuantizeMatMul",
    "MatMulInteger",
    "MatMulIntegerToFloat",
    "QGemm",
    "QLinearConv",
    "QLinearMatMul",
)


@pytest.mark.parametrize("is_known", [True, False], ids=["constant weights", "weights at run time"])
@pytest.mark.parametrize("operator", OPERATORS)
def test_onnx_runtimes_sums_are_exact_on_every_processor(operator, is_known, require_package):
    require_package("onnxruntime")
    shapes, weights = operands(operator)
    is_float = operator.startswith("Dynamic")
    x = np.full(shapes[0], 1 if is_float else 255, np.float32 if is_float else np.uint8)
    x.reshape(-1)[::7] = 0
    given = {"x": x} if is_known else {"x": x, "w": weights}
    (made,) = oracles.onnx_session(product(operator, is_known)).run(None, given)
    if operator == "QLinearConv":
        sums = np.einsum("ncyx,oc->noyx", x.astype(int), weights[..., 0, 0].astype(int) + 3)
    else:
        sums = x.astype(int) @ (weights.astype(int) + (3 if operator.startswith("Q") else 0))
    exact = np.rint(np.float32(sums) / np.float32(20_000)).clip(0, 255) if operator[0] == "Q" else sums
    np.testing.assert_allclose(made, exact.astype(made.dtype), rtol=1e-5)


def test_verify_does_not_blame_solder_for_sums_that_saturate_in_onnx_runtime(
    tmp_path, run_deploy, require_package
):
    """Without VNNI, ONNX Runtime adds pairs of uint8 x int8 in 16 bits."""
    require_package("onnxruntime")
    for operator in ("QLinearConv", "QLinearMatMul"):
        path = tmp_path / f"{operator}.onnx"
        path.write_bytes(product(operator))
        outcome = run_deploy("verify", path, "--board", "host", "--oracle", "ort")
        assert outcome.status == 0, outcome.out + outcome.err
        assert "returns the same outputs, in every bit" in outcome.out


@pytest.fixture
def flipping(monkeypatch):
    """Makes "tflm" an oracle that needs no package; the lowest bit is not as in Solder's reference."""

    def open_model(model: Any, _options: Any) -> Callable[[Sequence[Array]], tuple[Array, ...]]:
        def run(sample: Sequence[Array]) -> tuple[Array, ...]:
            named = dict(zip(model.graph.inputs, sample, strict=True))
            return tuple(np.bitwise_xor(each, 1) for each in run_graph(model.graph, named).values())

        return run

    fake = replace(oracles.ORACLES["tflm"], module="json", package="numpy", open=open_model)
    monkeypatch.setitem(oracles.ORACLES, "tflm", fake)


@pytest.mark.usefixtures("flipping")
def test_what_an_oracle_says_otherwise_fails_though_board_and_reference_agree(model, run_deploy):
    outcome = run_deploy("verify", model, "--board", "host", "--oracle", "tflm")
    assert outcome.status == 1
    require_facts(outcome.out, f"3 samples, every bit TensorFlow Lite Micro {np.__version__} disagrees")
    require_facts(outcome.out, 'sample 0, output "softmax_4": 5 of 5 differ, by 1 at [0, 0]:')
    require_facts(outcome.err, f"error: host TensorFlow Lite Micro {np.__version__} tiny differently report")
    facts = json.loads(run_deploy("verify", model, "--board", "host", "--oracle", "tflm", "--json").out)
    assert facts["equal"] is False
    assert facts["differences"] == []
    assert (facts["oracle"]["name"], len(facts["oracle"]["differences"])) == ("tflm", 3)


@pytest.mark.usefixtures("flipping")
def test_a_rounding_that_is_not_the_oracles_is_reported(model, run_deploy):
    words = ("verify", model, "--board", "host", "--oracle", "tflm", "--rounding", "litert-ref")
    require_facts(
        run_deploy(*words).err, "hint: --rounding litert-ref; --rounding tflm TensorFlow Lite Micro"
    )


def test_a_layer_whose_input_litert_quantizes_is_not_compared_with_it(tmp_path, run_deploy):
    """Solder computes it in floats, unless it is asked for LiteRT's rounding."""
    build = ModelBuilder()
    x = build.input("x", (1, 4, 4, 2), dtype="float32")
    w = build.constant("w", np.arange(-9, 9, dtype=np.int8).reshape(1, 3, 3, 2), [0.3])
    bias = build.constant("b", np.ones(1, np.float32))
    fields = dict.fromkeys(("StrideH", "StrideW", "DilationHFactor", "DilationWFactor"), 1)
    y = FileTensor("y", (1, 4, 4, 1), "float32")
    path = tmp_path / "m.tflite"
    path.write_bytes(build.finish(build.operator("CONV_2D", 3, (x, w, bias), [y], "Conv2DOptions", **fields)))
    told = run_deploy("verify", path, "--board", "host").out
    require_facts(told, "not compared LiteRT quantizes the input of CONV_2D #0 --rounding litert-ref")
    told = run_deploy("verify", path, "--board", "host", "--rounding", "litert-ref").out
    require_facts(told, "LiteRT returns the same outputs")


def test_a_package_that_is_missing_is_named_before_anything_is_built(model, run_deploy, monkeypatch):
    monkeypatch.setitem(sys.modules, "tflite_micro", None)
    told = run_deploy("verify", model, "--board", "host", "--oracle", "tflm").err
    require_facts(told, "TensorFlow Lite Micro not installed tflite-micro pip install 'solder-mcu[tflm]'")


def test_a_runtime_for_other_files_is_refused(model, onnx_model, run_deploy):
    for path, oracle, facts in (
        (model, "ort", "ONNX Runtime not TFLite tiny.tflite --oracle litert or tflm"),
        (onnx_model, "litert", "LiteRT not ONNX product.onnx --oracle ort"),
    ):
        require_facts(run_deploy("verify", path, "--board", "host", "--oracle", oracle).err, facts)


def test_a_front_end_is_not_part_of_the_file_that_a_runtime_reads(model, run_deploy):
    front = "tf.signal.log_mel:sample_rate=16000,frame_length=64,frame_step=32,num_mel_bins=8"
    outcome = run_deploy("verify", model, "--board", "host", "--oracle", "tflm", "--front", front)
    require_facts(outcome.err, f"TensorFlow Lite Micro inputs file, front end {front} omit --front alone;")


@pytest.fixture
def refusing(monkeypatch):
    """Makes "tflm" an oracle that cannot run the model."""

    def refuse(*_: object) -> Any:
        raise RuntimeError("Didn't find op for builtin opcode 'NEW'\nmore")

    fake = replace(oracles.ORACLES["tflm"], module="json", package="numpy", open=refuse)
    monkeypatch.setitem(oracles.ORACLES, "tflm", fake)


REFUSED = "TensorFlow Lite Micro cannot run Didn't find op for builtin opcode 'NEW'"


@pytest.mark.usefixtures("refusing")
def test_a_model_that_the_runtime_refuses_is_reported_with_its_words(model, run_deploy):
    told = run_deploy("verify", model, "--board", "host", "--oracle", "tflm").err
    require_facts(told, f"error: tiny.tflite {REFUSED}")
    assert "more" not in told


def test_the_runtime_of_the_models_rounding_is_asked_by_itself(
    model, onnx_model, run_deploy, require_package
):
    require_package("tflite_micro")
    require_package("ai_edge_litert")
    require_package("onnxruntime")
    asked = ("verify", model, "--board", "host")
    assert "\nTensorFlow Lite Micro " in run_deploy(*asked).out
    assert "\nLiteRT " in run_deploy(*asked, "--rounding", "litert-ref").out
    assert "\nONNX Runtime " in run_deploy("verify", onnx_model, "--board", "host").out
    alone = run_deploy(*asked, "--oracle", "none")
    assert alone.out.splitlines() == ["tiny on host: 3 samples, outputs equal to the reference in every bit"]


@pytest.mark.usefixtures("flipping")
def test_a_runtime_that_was_not_asked_for_is_believed_too(model, run_deploy):
    outcome = run_deploy("verify", model, "--board", "host")
    assert outcome.status == 1
    assert "disagrees" in outcome.out


def test_without_the_runtime_that_is_reported_and_nothing_fails(model, run_deploy, monkeypatch):
    fake = replace(oracles.ORACLES["tflm"], module="no_such_package")
    monkeypatch.setitem(oracles.ORACLES, "tflm", fake)
    outcome = run_deploy("verify", model, "--board", "host")
    assert outcome.status == 0
    told = outcome.out.splitlines()[1]
    require_facts(told, "not compared TensorFlow Lite Micro not installed pip install 'solder-mcu[tflm]'")


@pytest.mark.usefixtures("refusing")
def test_a_runtime_that_cannot_run_the_model_fails_nothing_where_it_was_not_asked_for(model, run_deploy):
    outcome = run_deploy("verify", model, "--board", "host")
    assert outcome.status == 0
    require_facts(outcome.out.splitlines()[1], f"not compared {REFUSED}")


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint8", "int16"])
def test_samples_are_not_only_centred(dtype):
    kinds = {"float32": DType.F32, "int8": DType.I8, "uint8": DType.U8, "int16": DType.I16}
    spec = TensorSpec("x", TensorType(kinds[dtype], (1, 40, 40)))
    (centred,), (far,), (step,) = (
        [np.asarray(a, np.float64) for a in sample] for sample in random_samples([spec], 3).each
    )
    assert abs(centred.mean()) < 3 * centred.std() or dtype == "uint8"
    assert far.mean() > 20 * far.std() or far.mean() > 0.9 * np.iinfo(dtype).max
    assert len(np.unique(step)) == 2


def test_python_has_it_too(model):
    with pytest.raises(InputError, match='there is no oracle "tflmm" - did you mean "tflm"'):
        deploy.verify(model, "host", oracle="tflmm")
