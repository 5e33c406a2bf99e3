"""RNN, GRU and LSTM equal ONNX Runtime and LiteRT, in a few layers however many steps there are."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from litert_oracle import run_litert
from onnx import TensorProto, helper, numpy_helper
from onnx_oracle import run_onnx
from recurrent_layers import fake_quant, lstm_of, rnn_of
from tflite_builder import ModelBuilder

from aot.errors import ModelError
from aot.frontend.onnx.read import read_onnx
from aot.frontend.tflite.read import read_tflite
from aot.frontend.tflite.write_file import FileTensor
from aot.interpret import run_graph, run_series
from aot.ir.graph import Graph
from aot.ir.types import Array
from aot.passes.pipeline import run_meaning

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
STEPS, BATCH, DEPTH, UNITS = 5, 2, 3, 4
RNG = np.random.default_rng(3)


def numbers(*shape: int) -> Array:
    made: Array = (RNG.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)
    return made


def layer(
    kind: str,
    wanted: str = "Yhc",
    operands: str = "B",
    given: str = "",
    steps: int = STEPS,
    batch: int = BATCH,
    lengths: int = 0,
    **attributes: Any,
) -> tuple[bytes, dict[str, Array]]:
    """A file of one node and inputs for it: `operands` of B, h, c, p are there, those `given` by the run."""
    ways = 2 if attributes.get("direction") == "bidirectional" else 1
    gates, is_turned = GATES[kind], attributes.get("layout", 0)
    state = (batch, ways, UNITS) if is_turned else (ways, batch, UNITS)
    shapes = {
        "X": (batch, steps, DEPTH) if is_turned else (steps, batch, DEPTH),
        "W": (ways, gates * UNITS, DEPTH),
        "R": (ways, gates * UNITS, UNITS),
        "B": (ways, 2 * gates * UNITS),
        "L": (batch,),
        "h": state,
        "c": state,
        "p": (ways, 3 * UNITS),
    }
    arrays = {name: numbers(*shape) for name, shape in shapes.items()}
    arrays["L"] = np.full(batch, lengths, np.int32)
    of_cells = "cp" if kind == "LSTM" else ""
    names = [n for n in "XWRBLhcp" if n not in "cp" or n in of_cells]
    there = [n if n in "XWR" or n in operands or (n == "L" and lengths) else "" for n in names]
    outputs = [n if n in wanted else "" for n in "Yhc" if n != "c" or n in of_cells]
    results = [helper.make_empty_tensor_value_info(f"{n}_n") for n in outputs if n]
    node = helper.make_node(
        kind, there, [f"{n}_n" if n else "" for n in outputs], hidden_size=UNITS, **attributes
    )
    inputs = [n for n in there if n == "X" or (n and n in given)]
    graph = helper.make_graph(
        [node],
        "net",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, arrays[n].shape) for n in inputs],
        results,
        [numpy_helper.from_array(arrays[n], n) for n in there if n and n not in inputs],
    )
    sets = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=sets, ir_version=9)
    return model.SerializeToString(), {n: arrays[n] for n in inputs}


def ops(graph: Graph) -> list[str]:
    return [node.op.name for node in run_meaning(graph).graph.nodes if node.op.name != "reshape"]


WAYS = ("forward", "reverse", "bidirectional")
FILES: dict[str, tuple[str, dict[str, Any]]] = {
    **{f"{kind} {way}": (kind, {"direction": way}) for kind in GATES for way in WAYS},
    **{f"{kind} from states": (kind, {"operands": "Bhc", "given": "hc"}) for kind in GATES},
    **{f"{kind} without biases": (kind, {"operands": ""}) for kind in GATES},
    **{f"{kind} clipped": (kind, {"clip": 0.3}) for kind in GATES},
    **{f"{kind} of one step": (kind, {"steps": 1, "direction": "reverse"}) for kind in GATES},
    **{f"{kind} with whole lengths": (kind, {"lengths": STEPS}) for kind in GATES},
    **{f"{kind} with computed weights": (kind, {"given": "WRBhc", "operands": "Bhc"}) for kind in GATES},
    "GRU with late reset": ("GRU", {"linear_before_reset": 1, "direction": "bidirectional"}),
    "GRU with late reset and no biases": ("GRU", {"linear_before_reset": 1, "operands": ""}),
    "GRU with late reset and computed weights": ("GRU", {"linear_before_reset": 1, "given": "WRB"}),
    "LSTM with peepholes": ("LSTM", {"operands": "Bhcp", "direction": "bidirectional"}),
    "LSTM with coupled gates": ("LSTM", {"input_forget": 1}),
    "LSTM of the hidden values alone": ("LSTM", {"wanted": "Y"}),
    "LSTM of the last values alone": ("LSTM", {"wanted": "hc", "direction": "bidirectional"}),
    "LSTM of other curves": ("LSTM", {"activations": ["HardSigmoid", "Softsign", "Softplus"]}),
    "GRU of other curves": (
        "GRU",
        {
            "activations": ["HardSigmoid", "Elu", "Sigmoid", "ScaledTanh"],
            "activation_alpha": [0.3, 0.7, 1.2],
            "activation_beta": [0.4, 0.8],
            "direction": "bidirectional",
        },
    ),
    **{
        f"RNN of {name}": ("RNN", {"activations": [name], "activation_alpha": [0.4]})
        for name in ("LeakyRelu", "ThresholdedRelu", "Relu", "Elu", "Affine")
    },
}


@pytest.mark.parametrize("name", FILES)
def test_a_recurrent_layer_gives_what_onnx_runtime_gives(name):
    kind, options = FILES[name]
    data, inputs = layer(kind, **options)
    graph = read_onnx(data, "net.onnx")
    made = run_graph(run_meaning(graph).graph, inputs)
    for output, wanted in zip(graph.outputs, run_onnx(data, inputs), strict=True):
        assert made[output].shape == wanted.shape
        assert np.allclose(made[output], wanted, rtol=0, atol=1e-5), output


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_sequences_before_their_steps_give_what_the_others_give(kind):
    """ONNX Runtime has no layout 1."""
    results = []
    for layout in (0, 1):
        RNG.bit_generator.state = np.random.default_rng(9).bit_generator.state
        data, inputs = layer(kind, operands="Bhc", batch=1, direction="bidirectional", layout=layout)
        results.append(run_graph(read_onnx(data, "net.onnx"), inputs))
    first, second = results
    assert np.allclose(first["Y_n"].transpose(2, 0, 1, 3), second["Y_n"])
    assert np.allclose(first["h_n"].transpose(1, 0, 2), second["h_n"])


@pytest.mark.parametrize("kind", GATES)
def test_two_hundred_steps_are_two_layers(kind):
    data, _ = layer(kind, "Y", steps=200, batch=1)
    assert ops(read_onnx(data, "net.onnx")) == ["conv2d", "recurrent"]


def test_the_cell_is_given_only_where_it_is_read():
    wanted = {"Yh": False, "Yhc": True}
    for outputs, is_given in wanted.items():
        data, _ = layer("LSTM", outputs)
        (node,) = (n for n in read_onnx(data, "net.onnx").nodes if n.op.name == "recurrent")
        assert getattr(node.op, "gives_cell") is is_given  # noqa: B009


def test_sequences_of_other_lengths_are_refused_with_the_way_out():
    data, _ = layer("LSTM", lengths=3)
    with pytest.raises(ModelError, match="sequences must all have the 5 steps of the input") as caught:
        read_onnx(data, "net.onnx")
    assert "pad them, or split the batch" in str(caught.value)


def test_an_unknown_activation_is_named():
    data, _ = layer("RNN", activations=["Gelu"])
    with pytest.raises(ModelError, match="activations Gelu are not supported"):
        read_onnx(data, "net.onnx")


LSTM_STEPS, LSTM_DEPTH, LSTM_UNITS = 5, 3, 4
LSTM_RNG = np.random.default_rng(4)


def lstm(shape: tuple[int, int], is_time_major: bool = False, cell_clip: float = 0.0) -> bytes:
    build, count = ModelBuilder(), shape[1 if is_time_major else 0]
    x = build.input("x", (*shape, LSTM_DEPTH), dtype="float32")

    def constants(name: str, *sizes: int) -> list[str]:
        arrays = [LSTM_RNG.standard_normal(sizes).astype(np.float32) for _ in range(4)]
        return [build.constant(f"{name}{gate}", array) for gate, array in enumerate(arrays)]

    weights = (*constants("w", LSTM_UNITS, LSTM_DEPTH), *constants("r", LSTM_UNITS, LSTM_UNITS))
    states = [build._add(FileTensor(n, (count, LSTM_UNITS), "float32", is_variable=True)) for n in ("h", "c")]
    inputs = (x, *weights, *(None,) * 3, *constants("b", LSTM_UNITS), None, None, *states, *(None,) * 4)
    return build.finish(
        build.operator(
            "UNIDIRECTIONAL_SEQUENCE_LSTM",
            1,
            inputs,
            [FileTensor("y", (*shape, LSTM_UNITS), "float32")],
            "UnidirectionalSequenceLSTMOptions",
            FusedActivationFunction=4,
            TimeMajor=is_time_major,
            CellClip=cell_clip,
        )
    )


LSTM_FILES = {
    "one sequence": lstm((1, LSTM_STEPS)),
    "two sequences": lstm((2, LSTM_STEPS)),
    "two sequences step by step": lstm((LSTM_STEPS, 2), is_time_major=True),
    "one step": lstm((1, 1)),
    "clipped cells": lstm((2, LSTM_STEPS), cell_clip=0.3),
}


@pytest.mark.parametrize("name", LSTM_FILES)
def test_an_lstm_gives_what_litert_gives_from_run_to_run(name):
    graph = run_meaning(read_tflite(LSTM_FILES[name], "lstm.tflite", "tflm")).graph
    inputs = LSTM_RNG.standard_normal((3, *graph.types["x"].shape)).astype(np.float32)
    made = [values["y"] for values in run_series(graph, ({"x": x} for x in inputs))]
    assert np.allclose(made, run_litert(LSTM_FILES[name], inputs), rtol=0, atol=1e-5)


def test_the_steps_of_one_sequence_are_two_layers_and_what_is_cut_out_of_them():
    made = ops(read_tflite(LSTM_FILES["one sequence"], "lstm.tflite", "tflm"))
    assert made[:2] == ["conv2d", "recurrent"]
    assert set(made[2:]) == {"rearrange"}


# Other recurrent operators, which TensorFlow 1 and older converters write.


OTHERS: dict[str, Callable[[], bytes]] = {
    "peepholes": lambda: lstm_of("peepholes"),
    "tied": lambda: lstm_of("tied"),
    "tied with peepholes": lambda: lstm_of("tied peepholes"),
    "projection": lambda: lstm_of("projection"),
    "projection with peepholes": lambda: lstm_of("projection peepholes"),
    "relu": lambda: lstm_of("relu", activation=1),
    "step": lambda: lstm_of("step"),
    "step with all": lambda: lstm_of("step tied peepholes projection", activation=4),
    "rnn": lambda: rnn_of("rnn"),
    "rnn by time": lambda: rnn_of("rnn time"),
    "rnn relu": lambda: rnn_of("rnn", activation=1),
    "rnn linear": lambda: rnn_of("rnn", activation=0),
    "rnn step": lambda: rnn_of("step"),
    "rnn both ways": lambda: rnn_of("both time"),
    "rnn both ways merged": lambda: rnn_of("both merged"),
}
HYBRID: dict[str, Callable[[], bytes]] = {
    "lstm": lambda: lstm_of("int8"),
    "tied": lambda: lstm_of("int8 tied"),
    "rnn": lambda: rnn_of("rnn int8"),
}


def outputs_of(data: bytes, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    graph = run_meaning(read_tflite(data, "rnn.tflite", "tflm")).graph
    made = [values["y"] for values in run_series(graph, ({"x": x} for x in inputs))]
    return np.stack(made), run_litert(data, inputs)


@pytest.mark.parametrize("name", OTHERS)
def test_other_recurrent_operators_give_what_litert_gives_from_run_to_run(name):
    data = OTHERS[name]()
    shape = read_tflite(data, "rnn.tflite", "tflm").types["x"].shape
    inputs = (RNG.standard_normal((3, *shape)) + 1.5).astype(np.float32)
    ours, theirs = outputs_of(data, inputs)
    assert np.abs(ours - theirs).max() <= 1e-5 * np.abs(theirs).max()


@pytest.mark.parametrize("name", HYBRID)
def test_int8_weights_of_float_layers_are_as_near_as_litert_rounds_their_inputs(name):
    """LiteRT quantizes each row of inputs and hidden values to 8 bits; here they stay float."""
    data = HYBRID[name]()
    shape = read_tflite(data, "rnn.tflite", "tflm").types["x"].shape
    ours, theirs = outputs_of(data, RNG.standard_normal((3, *shape)).astype(np.float32))
    assert np.abs(ours - theirs).max() < 0.05


@pytest.mark.parametrize("form", ["", "projection peepholes", "tied"])
def test_both_directions_give_what_litert_gives_for_each(form):
    """LiteRT's kernel of both reads memory that it has not set, and results change from run to run."""
    inputs = (RNG.standard_normal((3, 2, STEPS, DEPTH)) + 1.5).astype(np.float32)
    forward = run_litert(lstm_of(form), inputs)
    backward = run_litert(lstm_of(form, seed=8), inputs[:, :, ::-1])[:, :, ::-1]
    for is_merged in (True, False):
        data = lstm_of(f"both {form}{' merged' if is_merged else ''}")
        graph = run_meaning(read_tflite(data, "lstm.tflite", "tflm")).graph
        made = [values.values() for values in run_series(graph, ({"x": x} for x in inputs))]
        ours = np.stack([np.concatenate([*each], axis=-1) for each in made])
        assert np.abs(ours - np.concatenate([forward, backward], axis=-1)).max() <= 1e-5


def misfit(change: str) -> bytes:
    build = ModelBuilder()
    x = build.input("x", (1, STEPS, DEPTH), dtype="int8" if change == "int8" else "float32")
    weights, hidden, bias = (RNG.standard_normal(s).astype(np.float32) for s in ((4, 3), (4, 4), (4,)))
    if change == "depth":
        weights = weights[:, :2]
    if change == "hidden":
        hidden = hidden[:3]
    names: list[str | None] = [build.constant(n, a) for n, a in (("w", weights), ("r", hidden), ("b", bias))]
    sizes = (1, 5) if change == "state" else (1, 4)
    names.append(build._add(FileTensor("h", sizes, "float32", is_variable=True)))
    if change == "missing":
        names[2] = None
    output = FileTensor("y", (1, STEPS, 4), "float32")
    code, options = "UNIDIRECTIONAL_SEQUENCE_RNN", "SequenceRNNOptions"
    number = 3 if change == "activation" else 4
    return build.finish(
        build.operator(code, 1, [x, *names], [output], options, FusedActivationFunction=number)
    )


MISFITS = {
    "int8": "supported for f32 only",
    "depth": "do not fit rows of 3 elements",
    "hidden": "vectors that fit the units: r has shape",
    "state": "vectors that fit the units: h has shape",
    "missing": "its input 3 .* is missing",
    "activation": "activation RELU6 is not supported",
}


@pytest.mark.parametrize("change", MISFITS)
def test_recurrent_operators_that_do_not_fit_are_refused(change):
    with pytest.raises(ModelError, match=MISFITS[change]):
        read_tflite(misfit(change), "rnn.tflite", "tflm")


@pytest.mark.parametrize("bits", [4, 8, 16])
def test_fake_quantization_rounds_as_litert_does(bits):
    data = fake_quant(bits=bits)
    inputs = (2 * RNG.standard_normal((2, 1, 300))).astype(np.float32)
    ours, theirs = outputs_of(data, inputs)
    assert np.array_equal(ours, theirs)


@pytest.mark.parametrize(
    "fields", [{"low": 1.0, "high": 0.0}, {"low": 0.5}, {"high": np.inf}, {"bits": 0}, {"is_narrow": True}]
)
def test_fake_quantization_without_a_range_is_refused(fields):
    with pytest.raises(ModelError, match=r"range .* in .* bits"):
        read_tflite(fake_quant(**fields), "fake.tflite", "tflm")


@pytest.mark.cc
@pytest.mark.parametrize("form", ["int8 tied", "both merged projection peepholes"])
def test_the_c_of_other_forms_is_verified_without_an_oracle_that_differs(form, tmp_path, run_deploy):
    (tmp_path / "m.tflite").write_bytes(lstm_of(form))
    outcome = run_deploy("verify", tmp_path / "m.tflite", "--board", "host")
    assert outcome.status == 0, outcome.err
    assert "equal to the reference within 1e-05" in outcome.out
    assert "not compared with another runtime: LiteRT" in outcome.out
