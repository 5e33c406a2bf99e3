"""Quantization: conversion between floats and integers, halves to even."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from onnx import TensorProto

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.elements import BITS, NARROW, STORED
from aot.frontend.onnx.importers.elementwise import cast
from aot.frontend.onnx.operation import Importer, OnnxOperator
from aot.frontend.onnx.stored import Stored
from aot.ir.strides import dense_strides
from aot.ir.types import Quant
from aot.ops.quantize import Dequantize, Quantize
from aot.ops.rearrange import Loops

_WHOLE = (TensorProto.INT8, TensorProto.UINT8, TensorProto.INT16)  # stored without widening


def _spread(node: OnnxOperator, numbers: Value, x: Value) -> Value:
    """Broadcasts scales or zero points to x: one, one per index of an axis, or one per block."""
    shape, rank = node.shape(numbers), len(x.order)
    if all(s == 1 for s in shape):
        return node.value(node.reshaped(numbers.name, ()), numbers.element)
    axis = node.axis(node.integer("axis", 1), rank)
    block = node.integer("block_size", 0)
    if not block:
        if shape != (node.shape(x)[axis],):
            raise node.fail(f"scales of shape {list(shape)} do not fit axis {axis} of {list(node.shape(x))}")
        along = [-1 if a == axis else 1 for a in range(rank)]
        sizes = [shape[0] if a == -1 else 1 for a in along]
        return node.value(node.reshaped(node.plain(numbers), sizes), numbers.element)
    steps = dense_strides(shape)
    blocks = (*shape[: axis + 1], block, *shape[axis + 1 :])
    strides = (*steps[: axis + 1], 0, *steps[axis + 1 :])
    whole = (*shape[:axis], shape[axis] * block, *shape[axis + 1 :])
    repeated = node.value(node.picked(node.plain(numbers), Loops(blocks, strides), whole), numbers.element)
    return node.do(
        "Slice", repeated, node.number([0], 7), node.number([node.shape(x)[axis]], 7), node.number([axis], 7)
    )


def _quantize(node: OnnxOperator) -> Value:
    x, scale = node.operand(0), node.operand(1)
    element = node.operand(2).element if node.has(2) else node.integer("output_dtype", 0) or TensorProto.UINT8
    floats = cast(node, x, TensorProto.FLOAT)
    quant = _one_quant(node, scale, node.optional(2))
    if quant is not None and element in _WHOLE and floats.name not in node.draft.constants:
        op = Quantize(STORED[element], halves_to_even=True)
        return Value(node.draft.apply(node.place, op, (floats.name,), quant), floats.order, element)
    steps = node.do("Div", floats, cast(node, _spread(node, scale, x), TensorProto.FLOAT))
    if element in NARROW:
        if node.has(2):
            steps = node.do("Add", steps, cast(node, _spread(node, node.operand(2), x), TensorProto.FLOAT))
        return cast(node, steps, element, bool(node.integer("saturate", 1)))
    whole = node.do("Round", steps)
    if node.has(2):
        zero = cast(node, _spread(node, node.operand(2), x), TensorProto.FLOAT)
        whole = node.do("Add", whole, zero)
    return _saturated(node, whole, element)


def _one_quant(node: OnnxOperator, scale: Value, zero_point: Value | None) -> Quant | None:
    """Returns the quantization if it is known, per-tensor and from float32; else None."""
    scales = node.draft.array(scale)
    zeros = np.zeros(1) if zero_point is None else node.draft.array(zero_point)
    if scales is None or zeros is None or scales.size != 1 or zeros.size != 1:
        return None
    step = float(scales.reshape(-1)[0])
    if scale.element != TensorProto.FLOAT or not (math.isfinite(step) and step > 0):
        return None
    return Quant((step,), (int(zeros.reshape(-1)[0]),))


def _saturated(node: OnnxOperator, x: Value, element: int) -> Value:
    """Clamps to the limits of the type, which may be stored in a wider one."""
    if element in BITS:
        bits, has_sign = BITS[element]
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if has_sign else (0, (1 << bits) - 1)
        x = node.do("Min", node.do("Max", x, node.number(low, x.element)), node.number(high, x.element))
    return cast(node, x, element)


def _dequantize(node: OnnxOperator) -> Value:
    x, scale = node.operand(0), node.operand(1)
    element = node.integer("output_dtype", 0) or scale.element
    quant = _one_quant(node, scale, node.optional(2))
    is_constant = x.name in node.draft.constants
    if quant is not None and x.element in _WHOLE and element == TensorProto.FLOAT and not is_constant:
        quantised = Value(node.draft.with_quant(node.place, x.name, quant), x.order, x.element)
        return Value(node.apply(Dequantize(), quantised.name), x.order, element)
    centred = cast(node, x, TensorProto.FLOAT)
    if node.has(2):
        zero = cast(node, _spread(node, node.operand(2), x), TensorProto.FLOAT)
        centred = node.do("Sub", centred, zero)
    made = node.do("Mul", centred, cast(node, _spread(node, scale, x), TensorProto.FLOAT))
    result = cast(node, made, element)
    _remember(node, x, result)
    return result


def _remember(node: OnnxOperator, x: Value, result: Value) -> None:
    """Records the integers of a constant that became floats, for layers that use the integers."""
    integers = node.draft.array(x)
    scales = node.draft.array(_spread(node, node.operand(1), x))
    zeros = node.draft.array(_spread(node, node.operand(2), x)) if node.has(2) else np.zeros((), np.int64)
    if integers is None or scales is None or zeros is None or result.name not in node.draft.constants:
        return
    in_order = [np.broadcast_to(a, integers.shape).transpose(result.order) for a in (integers, scales, zeros)]
    node.draft.integers[result.name] = Stored(*in_order)


QUANTISING: Mapping[str, Importer] = {"DequantizeLinear": _dequantize, "QuantizeLinear": _quantize}
