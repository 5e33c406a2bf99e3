"""Converts the graph to JSON and back, for programs; people read its text form.

    {"format": 1, "name": "kws", "inputs": ["x"], "outputs": ["y"],
     "values": {"x": {"dtype": "i8", "shape": [1, 4], "quant": {"scales": [0.5], "zero_points": [0]}}, ...},
     "constants": {"w": {"sha256": "9f...", "base64": "AQI="}},
     "nodes": [{"name": "conv", "op": "conv2d", "attributes": {"stride": [2, 2]}, "inputs": ["x", "w", null],
                "outputs": ["y"], "origin": "CONV_2D #0"}],
     "states": [{"name": "s", "next": "y", "initial": {...}}],
     "window": {"rows": 49, "hop": 2, "macs": 2656768, "states": 1}}  if the window slides

Elements are in C order, little-endian. Attributes with their default value are omitted. An attribute that is
an op is an object with "op", a quantization is an object with "scales". The graph of a region is next to its
attributes.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from enum import Enum
from typing import Any, get_args, get_type_hints

import numpy as np

from aot.errors import InputError, did_you_mean
from aot.ir.graph import Graph, Node, State, Window
from aot.ir.region import DeviceRegion, Subgraph
from aot.ir.types import Array, DType, Quant, TensorType
from aot.ops import OPS
from aot.ops.op import Op

FORMAT = 1


class Elements(Enum):
    """How the elements of constants are written."""

    BASE64 = "base64"  # with their hash
    HASH = "hash"  # hash only: the reader supplies the arrays

    def written(self, array: Array) -> dict[str, str]:
        data = _bytes(array)
        found = {"sha256": hashlib.sha256(data).hexdigest()}
        if self is Elements.BASE64:
            found["base64"] = base64.b64encode(data).decode("ascii")
        return found


def to_json(graph: Graph, elements: str = "base64") -> str:
    """Returns the graph as JSON, `elements` of constants as "base64" or only "hash". Raises InputError."""
    known = {each.value: each for each in Elements}
    if elements not in known:
        near = did_you_mean(elements, known)
        raise InputError(
            f'"{elements}" is not an encoding of elements{near}', hint=f"known: {', '.join(known)}"
        )
    return json.dumps(_graph(graph, known[elements]), indent=1)


def from_json(text: str, constants: Mapping[str, Array] | None = None) -> Graph:
    """Reads the output of `to_json`; `constants` supplies arrays written as a hash. Raises InputError."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"this is not JSON: {error}") from None
    found = document.get("format") if isinstance(document, dict) else None
    if found != FORMAT:
        raise InputError(
            f"this JSON has format {found}, only format {FORMAT} can be read", hint="write it again"
        )
    try:
        return _GraphReader(constants or {}).graph(document)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"this JSON is not a graph: {type(error).__name__}: {error}") from error


def _bytes(array: Array) -> bytes:
    return array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()


def _graph(graph: Graph, elements: Elements) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "name": graph.name,
        "inputs": list(graph.inputs),
        "outputs": list(graph.outputs),
        "values": {name: _type(kind) for name, kind in graph.types.items()},
        "constants": {name: elements.written(array) for name, array in graph.constants.items()},
        "nodes": [_node(node, elements) for node in graph.nodes],
        "states": [
            {"name": state.name, "next": state.next, "initial": elements.written(state.initial)}
            for state in graph.states
        ],
        **({} if graph.window is None else {"window": asdict(graph.window)}),
    }


def _type(kind: TensorType) -> dict[str, Any]:
    found: dict[str, Any] = {"dtype": kind.dtype.value, "shape": list(kind.shape)}
    return found if kind.quant is None else {**found, "quant": _quant(kind.quant)}


def _quant(quant: Quant) -> dict[str, Any]:
    found = {"scales": list(quant.scales), "zero_points": list(quant.zero_points)}
    return found if quant.axis is None else {**found, "axis": quant.axis}


def _node(node: Node, elements: Elements) -> dict[str, Any]:
    region = {"graph": _graph(node.op.graph, elements)} if isinstance(node.op, Subgraph) else {}
    return {
        "name": node.name,
        **_op(node.op),
        **region,
        "inputs": list(node.inputs),
        "outputs": list(node.outputs),
        "origin": node.origin,
    }


def _op(op: Op) -> dict[str, Any]:
    values = {each.name: getattr(op, each.name) for each in fields(op) if _is_told(op, each)}  # type: ignore[arg-type]
    return {"op": op.name, "attributes": {name: _attribute(value) for name, value in values.items()}}


def _is_told(op: Op, each: Any) -> bool:
    value = getattr(op, each.name)
    return not isinstance(value, Graph) and bool(value != each.default)


def _attribute(value: Any) -> Any:
    if isinstance(value, Op):
        return _op(value)
    if isinstance(value, Quant):
        return _quant(value)
    return value.value if isinstance(value, Enum) else value


class _GraphReader:
    """Rebuilds a graph from a JSON document."""

    def __init__(self, external: Mapping[str, Array]) -> None:
        self._external = external

    def graph(self, document: Mapping[str, Any]) -> Graph:
        types = {name: _read_type(kind) for name, kind in document["values"].items()}
        constants = {
            name: self._array(name, types[name], each) for name, each in document["constants"].items()
        }
        states = (
            State(each["name"], each["next"], self._array(each["name"], types[each["name"]], each["initial"]))
            for each in document["states"]
        )
        nodes = tuple(map(self._node, document["nodes"]))
        inputs, outputs = tuple(document["inputs"]), tuple(document["outputs"])
        window = Window(**document["window"]) if "window" in document else None
        return Graph(document["name"], inputs, outputs, nodes, types, constants, tuple(states), window)

    def _array(self, name: str, kind: TensorType, written: Mapping[str, str]) -> Array:
        if "base64" in written:
            data = base64.b64decode(written["base64"], validate=True)
            stored = np.frombuffer(data, kind.dtype.numpy.newbyteorder("<"))
            array: Array = stored.astype(kind.dtype.numpy).reshape(kind.shape)
        elif name in self._external:
            array = self._external[name]
        else:
            raise InputError(
                f'the elements of "{name}" are not in this JSON, which has only their hash',
                hint='give them in `constants`, or write the graph with elements="base64"',
            )
        if hashlib.sha256(_bytes(array)).hexdigest() != written["sha256"]:
            raise InputError(f'the elements of "{name}" differ from those that the graph was written with')
        return array

    def _node(self, document: Mapping[str, Any]) -> Node:
        inputs, outputs = tuple(document["inputs"]), tuple(document["outputs"])
        return Node(document["name"], self._op(document), inputs, outputs, document["origin"])

    def _op(self, document: Mapping[str, Any]) -> Op:
        word, attributes = document["op"], document["attributes"]
        graph = {"graph": self.graph(document["graph"])} if "graph" in document else {}
        kind = DeviceRegion if word == DeviceRegion.name else OPS.get(word)
        if kind is None:
            raise InputError(f'there is no op "{word}"{did_you_mean(word, OPS)}')
        hints = get_type_hints(kind)
        unknown = next((name for name in attributes if name not in hints), None)
        if unknown is not None:
            raise InputError(f'{word} has no attribute "{unknown}"{did_you_mean(unknown, hints)}')
        read = {name: self._attribute(given, hints[name]) for name, given in attributes.items()}
        return kind(**read, **graph)

    def _attribute(self, given: Any, hint: Any) -> Any:
        kind = next((each for each in get_args(hint) if each is not type(None)), hint)  # X of X | None
        if isinstance(given, dict):
            return self._op(given) if "op" in given else _read_quant(given)
        if isinstance(kind, type) and issubclass(kind, Enum):
            return kind(given)
        return _as_tuples(given)


def _read_type(document: Mapping[str, Any]) -> TensorType:
    quant = document.get("quant")
    read = None if quant is None else _read_quant(quant)
    return TensorType(DType(document["dtype"]), tuple(document["shape"]), read)


def _read_quant(document: Mapping[str, Any]) -> Quant:
    return Quant(tuple(document["scales"]), tuple(document["zero_points"]), document.get("axis"))


def _as_tuples(value: Any) -> Any:
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value
