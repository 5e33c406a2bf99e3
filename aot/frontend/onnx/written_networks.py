"""Writes networks as ONNX models: an encoder of two convolutions, and a step of a llama-like network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

_OPSET, _IR_VERSION = 17, 8
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class ConvEncoder:
    """The weights. A row's scores depend on it and on the rows before."""

    first: Floats  # [rows, features, inner]
    first_bias: Floats
    last: Floats  # [inner, labels]
    last_bias: Floats

    def model(self, rows: int, keeps_state: bool) -> bytes:
        """Returns the model of [1, rows, features] to [1, rows, labels].

        With state, the rows before the first are those of the previous run; without, they are zeros.
        """
        seen, features, _ = self.first.shape
        constants = {
            "first": np.ascontiguousarray(self.first.transpose(2, 1, 0)),
            "first_bias": self.first_bias,
            "last": np.ascontiguousarray(self.last.T[:, :, None]),
            "last_bias": self.last_bias,
        }
        heard, pads = "features", [seen - 1, 0]
        nodes: list[onnx.NodeProto] = []
        inputs = [_tensor(heard, [1, rows, features])]
        outputs = [_tensor("scores", [1, rows, self.last.shape[1]])]
        if keeps_state:
            heard, pads = "all_features", [0, 0]
            nodes = [
                helper.make_node("Concat", ["past", "features"], [heard], axis=1),
                helper.make_node("Slice", [heard, "begin", "end", "axis"], ["present"]),
            ]
            places = {"begin": rows, "end": rows + seen - 1, "axis": 1}
            constants |= {name: np.array([place], np.int64) for name, place in places.items()}
            inputs.append(_tensor("past", [1, seen - 1, features]))
            outputs.append(_tensor("present", [1, seen - 1, features]))
        nodes += [
            helper.make_node("Transpose", [heard], ["channels"], perm=[0, 2, 1]),
            helper.make_node("Conv", ["channels", "first", "first_bias"], ["hidden"], pads=pads),
            helper.make_node("Relu", ["hidden"], ["positive"]),
            helper.make_node("Conv", ["positive", "last", "last_bias"], ["labels"]),
            helper.make_node("Transpose", ["labels"], ["scores"], perm=[0, 2, 1]),
        ]
        stored = [numpy_helper.from_array(array, name) for name, array in constants.items()]
        graph = helper.make_graph(nodes, "encoder", inputs, outputs, stored)
        opsets = [helper.make_opsetid("", _OPSET)]
        made = helper.make_model(graph, producer_name="solder", opset_imports=opsets)
        made.ir_version = _IR_VERSION
        if keeps_state:
            made.metadata_props.add(key="solder.state.past", value="present")
        written: bytes = made.SerializeToString()
        return written


def _tensor(name: str, shape: Sequence[int]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


# Writes a step of a llama-like network as an ONNX model: token and position to logits, with caches to keep.
#
# Each layer normalizes by the root of the mean square, rotates queries and keys by their position, lets
# several heads share keys and values, and has a gated feed-forward part. The step uses ONNX's own operators
# for language models (operator set 24). The caches are pairs of inputs and outputs, to be compiled as states.


EPSILON = 1e-5
_BASE = 10000.0  # of the rotations' periods
_LLAMA_OPSET, _LLAMA_IR_VERSION = 24, 11


@dataclass(frozen=True)
class LlamaSizes:
    tokens: int
    width: int
    layers: int
    heads: int
    shared: int  # heads of keys and values
    inner: int  # width of the feed-forward part
    positions: int

    @property
    def head(self) -> int:
        return self.width // self.heads


def rotations(sizes: LlamaSizes) -> tuple[Floats, Floats]:
    """Returns cosines and sines [positions, half a head]."""
    half = sizes.head // 2
    turns = np.arange(sizes.positions)[:, None] * _BASE ** (-np.arange(half) / half)
    return np.cos(turns).astype(np.float32), np.sin(turns).astype(np.float32)


def cache_pairs(layers: int) -> dict[str, str]:
    """Returns the input of each cache and the output that it becomes."""
    return {
        f"past_key_values.{layer}.{part}": f"present.{layer}.{part}"
        for layer in range(layers)
        for part in ("key", "value")
    }


def llama_step(sizes: LlamaSizes, weights: Mapping[str, Floats]) -> bytes:
    """Returns the model.

    Matrices are [inputs, outputs]: "0.q", "0.k", "0.v", "0.o", "0.gate", "0.up", "0.down", and so on for each
    layer; "embedding" [tokens, width] is also the last matrix. Gains are "0.norm_1", "0.norm_2" and "norm".
    """
    build = _Step()
    cos, sin = rotations(sizes)
    build.constant("cos", cos)
    build.constant("sin", sin)
    for name, array in weights.items():
        build.constant(name, array)
    cached = (1, sizes.shared, sizes.positions, sizes.head)
    build.do("Reshape", "position", build.constant("as_row", [1, 1]), out="place")
    build.do("Add", "position", build.constant("one", [1]), out="length")
    x = build.do("Gather", "embedding", "token")
    for layer in range(sizes.layers):
        h = build.normed(x, f"{layer}.norm_1", f"{layer}.attention_norm")
        q, k, v = (build.heads(sizes, layer, part, h) for part in "qkv")
        key, value = (f"past_key_values.{layer}.{part}" for part in ("key", "value"))
        for name, new in ((key, k), (value, v)):
            present = name.replace("past_key_values", "present")
            build.do("TensorScatter", name, new, "position", out=present, axis=2)
            build.cache(name, present, cached)
        mixed = build.do(
            "Attention",
            *(q, key.replace("past_key_values", "present"), value.replace("past_key_values", "present")),
            *("", "", "", "length"),
            out=f"{layer}.mixed",
        )
        flat = build.do("Reshape", mixed, build.constant("as_vector", [1, sizes.width]))
        x = build.do("Add", x, build.do("MatMul", flat, f"{layer}.o", out=f"{layer}.attention"))
        h = build.normed(x, f"{layer}.norm_2", f"{layer}.feed_forward_norm")
        gate = build.do("MatMul", h, f"{layer}.gate", out=f"{layer}.gated")
        open_ = build.do("Mul", gate, build.do("Sigmoid", gate))
        inner = build.do("Mul", open_, build.do("MatMul", h, f"{layer}.up", out=f"{layer}.upward"))
        x = build.do("Add", x, build.do("MatMul", inner, f"{layer}.down", out=f"{layer}.downward"))
    last = build.normed(x, "norm", "last_norm")
    build.constant("head", np.ascontiguousarray(weights["embedding"].T))
    build.do("MatMul", last, "head", out="logits")
    made: bytes = build.model(sizes.tokens).SerializeToString()
    return made


@dataclass
class _Step:
    """A graph while it is built."""

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: dict[str, onnx.TensorProto] = field(default_factory=dict)
    inputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    outputs: list[onnx.ValueInfoProto] = field(default_factory=list)

    def constant(self, name: str, values: Any) -> str:
        array = np.asarray(values, None if isinstance(values, np.ndarray) else np.int64)
        self.constants[name] = numpy_helper.from_array(array, name)
        return name

    def do(self, operator: str, *operands: str, out: str = "", **attributes: Any) -> str:
        out = out or f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(operands), [out], name=out, **attributes))
        return out

    def normed(self, x: str, gain: str, out: str) -> str:
        return self.do("RMSNormalization", x, gain, out=out, axis=-1, epsilon=EPSILON)

    def heads(self, sizes: LlamaSizes, layer: int, part: str, h: str) -> str:
        """Returns queries, keys or values [1, heads, 1, head]; values are not rotated."""
        count = sizes.heads if part == "q" else sizes.shared
        flat = self.do("MatMul", h, f"{layer}.{part}", out=f"{layer}.{part}_vector")
        shaped = self.do("Reshape", flat, self.constant(f"as_{count}_heads", [1, count, 1, sizes.head]))
        return shaped if part == "v" else self.do("RotaryEmbedding", shaped, "cos", "sin", "place")

    def cache(self, name: str, present: str, shape: tuple[int, ...]) -> None:
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        self.outputs.append(helper.make_tensor_value_info(present, TensorProto.FLOAT, shape))

    def model(self, tokens: int) -> onnx.ModelProto:
        numbers = [helper.make_tensor_value_info(n, TensorProto.INT64, [1]) for n in ("token", "position")]
        logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, tokens])
        graph = helper.make_graph(
            self.nodes,
            "step",
            [*numbers, *self.inputs],
            [logits, *self.outputs],
            list(self.constants.values()),
        )
        opsets = [helper.make_opsetid("", _LLAMA_OPSET), helper.make_opsetid("com.microsoft", 1)]
        made = helper.make_model(graph, producer_name="solder", opset_imports=opsets)
        made.ir_version = _LLAMA_IR_VERSION
        return made
