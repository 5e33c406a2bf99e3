"""Stores caches of keys and values in bytes: each new row is quantized by its largest element when written.

A cache is an input that TensorScatter writes rows into, and that only Attention reads; GroupQueryAttention of
one position becomes these two. The cache becomes int8, and next to it there is a cache of the rows' scales.
Attention reads the products of both. So any runtime with ONNX's operators computes the same model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import (
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    ValueInfoProto,
    helper,
    numpy_helper,
    shape_inference,
    version_converter,
)

from aot.errors import ModelError
from aot.frontend.onnx.packed_products import DOMAIN
from aot.ir.types import Array

# Rewrites GroupQueryAttention of one position as rotations, TensorScatter for its caches, and Attention.


_OPSET, _IR_VERSION = 24, 11  # of Attention with the number of known positions
_PASTS, _LAST_POSITION, _TOTAL, _COSINES, _SINES, _PLACES = (3, 4), 5, 6, 7, 8, 9  # inputs
_USUAL = {"smooth_softmax": 0, "qk_output": 0, "local_window_size": -1, "softcap": 0.0}
_RESULTS = 3  # the heads' results, and both caches
_CACHE_DIMS = 4  # batch, heads, positions, elements
Shapes = Mapping[str, Sequence[int]]  # 0: known only when the model is compiled
Constants = Mapping[str, Array]


def with_plain_steps(model: ModelProto) -> ModelProto:
    """Returns the model itself if it has no such attention to caches of floats."""
    graph = model.graph
    caches, constants = _caches(graph), _constants(graph)
    rewritten = {node.output[0] for node in graph.node if _is_plain(node, caches, constants)}
    if not rewritten:
        return model
    made, steps = _in_operator_set(model), _Steps()
    for node in made.graph.node:
        if node.output[0] in rewritten:
            steps.add(node, caches[node.input[_PASTS[0]]][-1], constants)
        else:
            steps.nodes.append(node)
    nodes = [*steps.nodes]
    del made.graph.node[:]
    made.graph.node.extend(nodes)
    stored = (numpy_helper.from_array(array, name) for name, array in steps.constants.items())
    made.graph.initializer.extend(stored)
    return made


def require_one_position(model: ModelProto) -> None:
    """Raises ModelError if such an attention takes several positions, as far as shapes are known."""
    caches, constants = _caches(model.graph), _constants(model.graph)
    graph = shape_inference.infer_shapes(model).graph
    shapes = {each.name: each.type.tensor_type.shape.dim for each in (*graph.input, *graph.value_info)}
    counts = {name: dims[1].dim_value for name, dims in shapes.items() if len(dims) > 1}  # 0: unknown
    for node in graph.node:
        count = counts.get(node.input[0], 0) if _is_plain(node, caches, constants) else 0
        if count > 1:
            raise ModelError(
                f"GroupQueryAttention {node.name or node.output[0]} takes {count} positions in a run, "
                "but caches in bytes need one",
                hint="export a step of one position, or leave out --io-type int8: the caches stay floats",
            )


def _caches(graph: GraphProto) -> Shapes:
    """Returns the shapes of inputs and outputs of floats."""
    return {
        each.name: [dim.dim_value for dim in each.type.tensor_type.shape.dim]
        for each in (*graph.input, *graph.output)
        if each.type.tensor_type.elem_type == TensorProto.FLOAT
    }


def _constants(graph: GraphProto) -> dict[str, Array]:
    """Returns the numbers that the model stores, in Constant nodes too."""
    found = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant":
            given = _attributes(node)
            tensor, numbers = given.get("value"), given.get("value_ints", given.get("value_int"))
            if tensor is not None:
                found[node.output[0]] = numpy_helper.to_array(tensor)
            elif numbers is not None:
                found[node.output[0]] = np.array(numbers, np.int64)
    return found


def _in_operator_set(model: ModelProto) -> ModelProto:
    """Returns the model in an operator set that has Attention to caches. Raises ModelError."""
    version = max((each.version for each in model.opset_import if not each.domain), default=_OPSET)
    if version >= _OPSET:
        return model
    try:
        made = version_converter.convert_version(model, _OPSET)
    except (RuntimeError, version_converter.ConvertError) as error:
        raise ModelError(
            f"caches in bytes need operator set {_OPSET}, and onnx cannot convert from {version}: {error}",
            hint=f"export the model with operator set {_OPSET}",
        ) from None
    del made.metadata_props[:]
    made.metadata_props.extend(model.metadata_props)
    made.ir_version = max(made.ir_version, _IR_VERSION)
    return made


def _is_plain(node: NodeProto, caches: Shapes, constants: Constants) -> bool:
    """Returns whether plain operators compute the same, and the caches have a fixed length."""
    if node.op_type != "GroupQueryAttention" or len(node.output) != _RESULTS:
        return False
    attributes, inputs = _attributes(node), [*node.input, *[""] * _PLACES]
    held = [*(inputs[place] for place in _PASTS), *node.output[1:]]
    is_other = (
        not inputs[_LAST_POSITION]
        or any(attributes.get(name, usual) != usual for name, usual in _USUAL.items())
        or any(node.input[_PLACES + 1 :])
        or any(len(caches.get(each, ())) != _CACHE_DIMS or caches[each][0] > 1 for each in held)
        or (attributes.get("do_rotary") and not {inputs[_COSINES], inputs[_SINES]} <= constants.keys())
    )
    if is_other:
        return False
    *_, positions, head = caches[held[0]]
    total = constants.get(inputs[_TOTAL])
    return head > 0 and (total is None or int(total.reshape(-1)[0]) <= positions)


def _attributes(node: NodeProto) -> dict[str, Any]:
    return {each.name: helper.get_attribute_value(each) for each in node.attribute}


@dataclass
class _Steps:
    """The nodes so far, and the constants that they add."""

    nodes: list[NodeProto] = field(default_factory=list)
    constants: dict[str, Array] = field(default_factory=dict)

    def add(self, node: NodeProto, head: int, constants: Constants) -> None:
        q, k, v, *pasts, last = node.input[: _LAST_POSITION + 1]
        result, *presents = node.output
        attributes = _attributes(node)
        heads, shared = int(attributes["num_heads"]), int(attributes["kv_num_heads"])

        def do(operator: str, of: list[str], name: str, domain: str = "", **attributes: Any) -> str:
            made = name if name in node.output else f"{result}/{name}"
            self.nodes.append(helper.make_node(operator, of, [made], name=made, domain=domain, **attributes))
            return made

        def shaped(value: str, name: str, *shape: int) -> str:
            return do("Reshape", [value, self.numbers(*shape)], name)

        start = do("Cast", [shaped(last, "last", 1)], "start", to=TensorProto.INT64)
        length = do("Add", [start, self.numbers(1)], "length")
        if k:
            turned = [shaped(q, "queries", 1, heads, 1, head), shaped(k, "keys", 1, shared, 1, head)]
            values = shaped(v, "values", 1, shared, 1, head)
        else:
            parts = [f"{result}/{name}" for name in ("queries", "keys", "values")]
            whole = shaped(q, "heads", 1, heads + 2 * shared, 1, head)
            sizes = self.numbers(heads, shared, shared)
            self.nodes.append(helper.make_node("Split", [whole, sizes], parts, name=parts[0], axis=1))
            *turned, values = parts
        if attributes.get("do_rotary"):
            given = node.input[_PLACES] if len(node.input) > _PLACES else ""
            place = shaped(given, "place", 1) if given else start
            tables = [node.input[_COSINES], node.input[_SINES]]
            width = 2 * constants[tables[0]].shape[-1]
            turned = [
                do(
                    "RotaryEmbedding",
                    [each, place, *tables],
                    f"turned_{name}",
                    DOMAIN,
                    interleaved=int(attributes.get("rotary_interleaved", 0)),
                    **({} if width == head else {"rotary_embedding_dim": width, "num_heads": count}),
                )
                for each, name, count in zip(turned, ("queries", "keys"), (heads, shared), strict=True)
            ]
        for past, rows, present in zip(pasts, (turned[1], values), presents, strict=True):
            do("TensorScatter", [past, rows, start], present, axis=2)
        scale = attributes.get("scale", 0.0)
        read = [turned[0], *presents, "", "", "", length]
        mixed = do("Attention", read, "mixed", **({"scale": scale} if scale else {}))
        do("Reshape", [mixed, self.numbers(1, 1, heads * head)], result)

    def numbers(self, *values: int) -> str:
        name = "numbers/" + "_".join(map(str, values))
        self.constants[name] = np.array(values, np.int64)
        return name


_MOST, _LEAST, _LAST = "row/most", "row/least_scale", "row/last_axis"  # constants
_LEAST_SCALE = 1e-30  # of a row of zeros
_KEYS, _VALUES, _KNOWN = 1, 2, 6  # inputs of Attention
SCALES = ".scale"  # ends the name of the cache of scales


def with_byte_caches(data: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Returns the model, and the names of the caches that it stores in bytes now."""
    model = with_plain_steps(onnx.load_model_from_string(data))
    graph = model.graph
    writers = _writers(graph)
    if not writers:
        return data, ()
    nodes: list[NodeProto] = []
    for node in graph.node:
        if node.output[0] in writers:
            nodes += _written(node)
        else:
            for place, name in enumerate(node.input):
                if name in writers:
                    node.input[place] = _real(name)
            nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)
    for infos in (graph.input, graph.output):
        infos.extend([_narrowed(each) for each in infos if each.name in _names(writers)])
    graph.initializer.append(numpy_helper.from_array(np.float32(127), _MOST))
    graph.initializer.append(numpy_helper.from_array(np.float32(_LEAST_SCALE), _LEAST))
    graph.initializer.append(numpy_helper.from_array(np.array([-1]), _LAST))
    made: bytes = model.SerializeToString()
    return made, tuple(node.input[0] for node in writers.values())


def _names(writers: dict[str, NodeProto]) -> set[str]:
    return {name for present, node in writers.items() for name in (node.input[0], present)}


def _writers(graph: GraphProto) -> dict[str, NodeProto]:
    """Returns, by its new value, the writer of each cache of floats whose keys and values both qualify."""
    floats = {
        each.name
        for each in (*graph.input, *graph.output)
        if each.type.tensor_type.elem_type == TensorProto.FLOAT and len(each.type.tensor_type.shape.dim) == 4
    }
    reads = Counter(name for node in graph.node for name in node.input)
    outputs = {each.name for each in graph.output}
    found = {
        node.output[0]: node
        for node in graph.node
        if node.op_type == "TensorScatter"
        and {node.input[0], node.output[0]} <= floats
        and node.output[0] in outputs
        and reads[node.input[0]] == reads[node.output[0]] == 1
    }
    read = {
        name
        for node in graph.node
        if node.op_type == "Attention" and len(node.input) > _KNOWN and node.input[_KEYS] in found
        for name in node.input[_KEYS : _VALUES + 1]
        if node.input[_VALUES] in found
    }
    return {present: node for present, node in found.items() if present in read}


def _written(node: NodeProto) -> list[NodeProto]:
    """Returns nodes that quantize new rows, write them and their scales, and multiply all of a cache."""
    (past, rows, *place), present = node.input, node.output[0]

    def made(operator: str, of: list[str], name: str, **attributes: int) -> NodeProto:
        return helper.make_node(operator, of, [name], name=name, **attributes)

    def scattered(cache: str, new: str, name: str) -> NodeProto:
        again = NodeProto()
        again.CopyFrom(node)
        again.name = name
        again.input[:] = [cache, new, *place]
        again.output[:] = [name]
        return again

    reach, scale = f"{present}/reach", f"{present}/row_scale"
    return [
        made("Abs", [rows], f"{present}/sizes"),
        made("ReduceMax", [f"{present}/sizes", _LAST], reach, keepdims=1),
        made("Div", [reach, _MOST], f"{scale}/exact"),
        made("Max", [f"{scale}/exact", _LEAST], scale),
        made("Div", [rows, scale], f"{present}/shares"),
        made("Round", [f"{present}/shares"], f"{present}/whole"),
        made("Cast", [f"{present}/whole"], f"{present}/bytes", to=TensorProto.INT8),
        scattered(past, f"{present}/bytes", present),
        scattered(past + SCALES, scale, present + SCALES),
        made("Cast", [present], f"{present}/numbers", to=TensorProto.FLOAT),
        made("Mul", [f"{present}/numbers", present + SCALES], _real(present)),
    ]


def _real(present: str) -> str:
    return f"{present}/real"


def _narrowed(info: ValueInfoProto) -> ValueInfoProto:
    """Makes the cache one of bytes, and returns that of its scales."""
    scales = ValueInfoProto()
    scales.CopyFrom(info)
    scales.name = info.name + SCALES
    scales.type.tensor_type.shape.dim[-1].ClearField("dim_param")
    scales.type.tensor_type.shape.dim[-1].dim_value = 1
    info.type.tensor_type.elem_type = TensorProto.INT8
    return scales
