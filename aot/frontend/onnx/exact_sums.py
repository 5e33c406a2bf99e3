"""Rewrites an ONNX file so that ONNX Runtime gives the same results on every processor.

On x86 without VNNI, ONNX Runtime adds pairs of uint8 x int8 products in 16 bits, which saturates. Products
of uint8 x uint8 are exact everywhere, so the second operand and its zero point are both raised by 128.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import onnx
from onnx import GraphProto, NodeProto, TensorProto, helper

from aot.frontend.onnx.supported import bodies_of, nodes_of

_RAISED_BY = 128


@dataclass(frozen=True, slots=True)
class _Product:
    """The operand positions of an integer product: the first and its zero point, and the second's."""

    first: tuple[int, ...]  # empty if the operator itself converts floats to uint8
    second: int
    zero_point: int


# ConvInteger is not listed: its sums are exact everywhere.
_PRODUCTS: Mapping[str, _Product] = {
    "DynamicQuantizeMatMul": _Product((), 1, 3),
    "MatMulInteger": _Product((0, 2), 1, 3),
    "MatMulIntegerToFloat": _Product((0, 4), 1, 5),
    "QGemm": _Product((0, 2), 3, 5),
    "QLinearConv": _Product((0, 2), 3, 5),
    "QLinearMatMul": _Product((0, 2), 3, 5),
}


def is_of_pairs(data: bytes) -> bool:
    """Returns whether integers occur between QuantizeLinear and DequantizeLinear only, one pair at a place.

    Of two pairs in a row, as between 16 and 8 bits, ONNX Runtime's optimizer makes one that rounds otherwise.
    """
    nodes = list(nodes_of(onnx.load_model_from_string(data).graph))
    found = {node.op_type for node in nodes}
    if not {"QuantizeLinear", "DequantizeLinear"} <= found or found & set(_PRODUCTS):
        return False
    read_by_quantize = {node.input[0] for node in nodes if node.op_type == "QuantizeLinear"}
    again = [n for n in nodes if n.op_type == "DequantizeLinear" and n.output[0] in read_by_quantize]
    made_by_quantize = {node.output[0] for node in nodes if node.op_type == "QuantizeLinear"}
    return not any(node.input[0] in made_by_quantize for node in again)


def with_exact_sums(data: bytes) -> bytes:
    """Returns the file with uint8 x uint8 products instead of uint8 x int8, with the same values."""
    model = onnx.load_model_from_string(data)
    if not any(node.op_type in _PRODUCTS for node in nodes_of(model.graph)):
        return data
    types = dict(_element_types(onnx.shape_inference.infer_shapes(model).graph))
    _raise_in(model.graph, types)
    raised: bytes = model.SerializeToString()
    return raised


def _element_types(graph: GraphProto) -> Iterator[tuple[str, int]]:
    """Yields the element types of values from the file or ONNX's type inference, including bodies."""
    yield from ((tensor.name, tensor.data_type) for tensor in graph.initializer)
    for value in (*graph.input, *graph.value_info, *graph.output):
        yield value.name, value.type.tensor_type.elem_type
    for body in _bodies_in(graph):
        yield from _element_types(body)


def _bodies_in(graph: GraphProto) -> Iterator[GraphProto]:
    return (body for node in graph.node for body in bodies_of(node))


def _raise_in(graph: GraphProto, types: Mapping[str, int]) -> None:
    nodes: list[NodeProto] = []
    for node in graph.node:
        product = _PRODUCTS.get(node.op_type)
        if product is not None and _saturates(node, product, types):
            nodes.extend(_raise(node, product))
        nodes.append(node)
    for body in _bodies_in(graph):
        _raise_in(body, types)
    del graph.node[:]
    graph.node.extend(nodes)


def _saturates(node: NodeProto, product: _Product, types: Mapping[str, int]) -> bool:
    first = {types.get(name) for name in _operands(node, product.first)}
    second = {types.get(name) for name in _operands(node, (product.second, product.zero_point))}
    is_uint8 = not product.first or TensorProto.UINT8 in first
    return is_uint8 and TensorProto.INT8 in second


def _operands(node: NodeProto, places: tuple[int, ...]) -> list[str]:
    return [node.input[place] for place in places if place < len(node.input) and node.input[place]]


def _raise(node: NodeProto, product: _Product) -> Iterator[NodeProto]:
    """Yields nodes that raise the second operand and its zero point; an absent one becomes 128."""
    prefix = f"{node.output[0]}:raised"
    node.input.extend([""] * (product.zero_point + 1 - len(node.input)))
    by = f"{prefix}/by"
    yield _constant(by, TensorProto.INT32)
    for place in (product.second, product.zero_point):
        name, raised = node.input[place], f"{prefix}/{place}"
        node.input[place] = raised
        if name:
            yield helper.make_node("Cast", [name], [f"{raised}/wide"], to=TensorProto.INT32)
            yield helper.make_node("Add", [f"{raised}/wide", by], [f"{raised}/sum"])
            yield helper.make_node("Cast", [f"{raised}/sum"], [raised], to=TensorProto.UINT8)
        else:
            yield _constant(raised, TensorProto.UINT8)


def _constant(name: str, element_type: int) -> NodeProto:
    value = helper.make_tensor(name, element_type, [], [_RAISED_BY])
    return helper.make_node("Constant", [], [name], value=value)


# Adds outputs to an ONNX file.


def with_outputs(data: bytes, names: Iterable[str]) -> bytes:
    """Returns the file with these int64 results as additional outputs."""
    model = onnx.load_model_from_string(data)
    known = {output.name for output in model.graph.output}
    for name in names:
        if name not in known:
            model.graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.INT64, None))
    more: bytes = model.SerializeToString()
    return more
