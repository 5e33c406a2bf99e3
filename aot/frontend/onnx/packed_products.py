"""Stores the weights of a float model's matrix products in 8 or 4 bits (MatMulNBits), and tables in 8.

Eight bits have a step per output, and the model permits integer products: each vector is then quantized by
its range in the run. Four bits have a step per block of the sum, and vectors stay floats.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

from aot.ir.types import Array

DOMAIN = "com.microsoft"
INTEGER_PRODUCTS = 4  # accuracy_level: vectors may be quantized to 8 bits
_LEAST_BLOCK, _FOUR_BIT_BLOCK = 16, 32
_SHARES = np.linspace(0.7, 1.0, 13)  # of a block's largest weight, tried as the end of four bits
Floats = npt.NDArray[np.float32]
Constants = dict[str, Array]


def with_packed_products(data: bytes, bits: int) -> tuple[bytes, tuple[str, ...]]:
    """Returns the model, and the names of the weights that it stores in few bits now.

    These are right factors of MatMul with two dimensions, and tables of which Gather picks rows.
    """
    model = onnx.load_model_from_string(data)
    graph = model.graph
    constants: Constants = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    packed: list[str] = []
    nodes: list[NodeProto] = []
    for node in graph.node:
        weights = _weights_of(node, constants)
        if weights is None:
            nodes.append(node)
        elif node.op_type == "MatMul":
            nodes.append(_product(node, weights, constants, bits))
            packed.append(weights)
        else:
            nodes += _rows(node, weights, constants)
            packed.append(weights)
    del graph.node[:], graph.initializer[:]
    graph.node.extend(nodes)
    read = {name for node in nodes for name in node.input}
    graph.initializer.extend(numpy_helper.from_array(a, n) for n, a in constants.items() if n in read)
    if all(each.domain != DOMAIN for each in model.opset_import):
        model.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    made: bytes = model.SerializeToString()
    return made, tuple(packed)


def _weights_of(node: NodeProto, constants: Constants) -> str | None:
    """Returns the name of the weights to pack, if there are any."""
    position = {"MatMul": 1, "Gather": 0}.get(node.op_type)
    name = "" if position is None else str(node.input[position])
    found = constants.get(name)
    is_axis = any(each.name == "axis" and each.i for each in node.attribute)
    if found is None or found.dtype != np.float32 or found.ndim != 2 or is_axis:
        return None
    return None if node.op_type == "MatMul" and found.shape[0] < _LEAST_BLOCK else name


def _product(node: NodeProto, name: str, constants: Constants, bits: int) -> NodeProto:
    depth, outputs = constants[name].shape
    block = 1 << max(depth - 1, _LEAST_BLOCK - 1).bit_length() if bits == 8 else _FOUR_BIT_BLOCK
    stored, steps = _in_blocks(constants[name].T, block, bits)
    constants[f"{name}/packed"], constants[f"{name}/steps"] = stored, steps
    level: dict[str, Any] = {"accuracy_level": INTEGER_PRODUCTS} if bits == 8 else {}
    return helper.make_node(
        "MatMulNBits",
        [node.input[0], f"{name}/packed", f"{name}/steps"],
        node.output,
        name=node.name,
        domain=DOMAIN,
        **{"K": depth, "N": outputs, "bits": bits, "block_size": block, **level},
    )


def _in_blocks(rows: Array, block: int, bits: int) -> tuple[Array, Array]:
    """Returns weights [outputs, blocks, bytes], whose zero point is the middle, and the blocks' steps."""
    outputs, depth = rows.shape
    blocks = -(-depth // block)
    values = np.zeros((outputs, blocks * block), np.float32)
    values[:, :depth] = rows
    values = values.reshape(outputs, blocks, block)
    steps = _steps(values, bits)
    middle = 1 << (bits - 1)
    codes = (_integers(values, steps, bits) + middle).astype(np.uint8)
    packed = codes if bits == 8 else codes[..., 0::2] | codes[..., 1::2] << np.uint8(4)
    return packed, steps[..., 0].astype(np.float32).reshape(-1)


def _steps(values: Floats, bits: int) -> Floats:
    """Returns a step per block: for four bits the one of several with the least squared error."""
    most = (1 << (bits - 1)) - 1
    reach = np.abs(values).max(axis=-1, keepdims=True)
    reach = np.where(reach == 0, 1, reach).astype(np.float32)
    if bits == 8:
        return (reach / most).astype(np.float32)
    tried = [(reach * share / most).astype(np.float32) for share in _SHARES]
    errors = [
        ((values - _integers(values, steps, bits) * steps) ** 2).sum(axis=-1, keepdims=True)
        for steps in tried
    ]
    best = np.argmin(np.stack(errors), axis=0)
    chosen: Floats = np.take_along_axis(np.stack(tried), best[np.newaxis], 0)[0]
    return chosen


def _integers(values: Floats, steps: Floats, bits: int) -> Floats:
    half = 1 << (bits - 1)
    rounded: Floats = np.clip(np.rint(values / steps), -half if bits < 8 else 1 - half, half - 1)
    return rounded


def _rows(node: NodeProto, name: str, constants: Constants) -> list[NodeProto]:
    """Returns nodes that pick a row of bytes and multiply it by its step."""
    table = constants[name]
    steps = np.abs(table).max(axis=1, keepdims=True) / 127
    steps = np.where(steps == 0, 1, steps).astype(np.float32)
    constants[f"{name}/bytes"] = np.rint(table / steps).astype(np.int8)
    constants[f"{name}/row_steps"] = steps
    out = node.output[0]
    picked = [
        helper.make_node("Gather", [f"{name}/{part}", node.input[1]], [f"{out}/{part}"], axis=0)
        for part in ("bytes", "row_steps")
    ]
    widened = helper.make_node("Cast", [f"{out}/bytes"], [f"{out}/numbers"], to=TensorProto.FLOAT)
    times = helper.make_node("Mul", [f"{out}/numbers", f"{out}/row_steps"], [out], name=node.name)
    return [*picked, widened, times]
