"""Stores caches of keys and values in bytes: each new row is quantized by its largest element when written.

A cache is an input that TensorScatter writes rows into, and that only Attention reads; GroupQueryAttention of
one position becomes these two. The cache becomes int8, and next to it there is a cache of the rows' scales.
Attention reads the products of both. So any runtime with ONNX's operators computes the same model.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import onnx
from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from aot.frontend.onnx.grouped_steps import with_plain_steps

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
