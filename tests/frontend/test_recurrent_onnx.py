"""RNN, GRU and LSTM give what ONNX Runtime gives, in a few layers however many steps there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_oracle import run_onnx

from aot.errors import ModelError
from aot.frontend.onnx.read import read_onnx
from aot.interpret import run_graph
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
def test_a_recurrent_layer_gives_what_onnx_runtime_gives(
    name: str, require_package: Callable[..., None]
) -> None:
    require_package("onnxruntime")
    kind, options = FILES[name]
    data, inputs = layer(kind, **options)
    graph = read_onnx(data, "net.onnx")
    made = run_graph(run_meaning(graph).graph, inputs)
    for output, wanted in zip(graph.outputs, run_onnx(data, inputs), strict=True):
        assert made[output].shape == wanted.shape
        assert np.allclose(made[output], wanted, rtol=0, atol=1e-5), output


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_sequences_before_their_steps_give_what_the_others_give(kind: str) -> None:
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
def test_two_hundred_steps_are_two_layers(kind: str) -> None:
    data, _ = layer(kind, "Y", steps=200, batch=1)
    assert ops(read_onnx(data, "net.onnx")) == ["conv2d", "recurrent"]


def test_the_cell_is_given_only_where_it_is_read() -> None:
    wanted = {"Yh": False, "Yhc": True}
    for outputs, is_given in wanted.items():
        data, _ = layer("LSTM", outputs)
        (node,) = (n for n in read_onnx(data, "net.onnx").nodes if n.op.name == "recurrent")
        assert getattr(node.op, "gives_cell") is is_given  # noqa: B009


def test_sequences_of_other_lengths_are_refused_with_the_way_out() -> None:
    data, _ = layer("LSTM", lengths=3)
    with pytest.raises(ModelError, match="sequences must all have the 5 steps of the input") as caught:
        read_onnx(data, "net.onnx")
    assert "pad them, or split the batch" in str(caught.value)


def test_an_unknown_activation_is_named() -> None:
    data, _ = layer("RNN", activations=["Gelu"])
    with pytest.raises(ModelError, match="activations Gelu are not supported"):
        read_onnx(data, "net.onnx")
