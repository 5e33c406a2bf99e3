"""Operators with two operands, broadcast if necessary: arithmetic, extremes, logic, comparisons, select."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import tflite

from aot.frontend.tflite.operation import Importer, TfliteOperator
from aot.ir.types import DType, Quant, TensorType
from aot.ops.activation import Activation
from aot.ops.binary import Add, BinaryOp, Div, Mul, Prelu, SquaredDifference, Sub
from aot.ops.combine import Combination, Combine
from aot.ops.compare import Compare, Relation
from aot.ops.convert import Convert
from aot.ops.op import Op
from aot.ops.quantize import Quantize
from aot.ops.requant import quant_of
from aot.ops.rounding import scales_in_single
from aot.ops.select import Select


def _import_fused(node: TfliteOperator, op_class: type[BinaryOp], options: type[tflite.AddOptions]) -> None:
    """Imports operators that have a fused activation."""
    activation = node.activation(node.options(options).FusedActivationFunction())
    dtype = node.tensor(node.the_output).dtype
    if op_class is Add and dtype is DType.I32 and node.draft.rounding == "tflm":
        activation = Activation.NONE  # TFLite Micro's kernel ignores it
    _import_op(node, op_class(activation=activation))


def _import_div(node: TfliteOperator) -> None:
    """Imports DIV; a float divided by 0 gives the largest finite number, not infinity."""
    number = node.options(tflite.DivOptions).FusedActivationFunction()
    activation = node.activation(number)
    if activation is Activation.NONE and node.tensor(node.the_output).dtype is DType.F32:
        activation = Activation.FINITE
    _import_op(node, Div(activation))


def _import_mul(node: TfliteOperator) -> None:
    number = node.options(tflite.MulOptions).FusedActivationFunction()
    op = Mul(node.activation(number), scales_in_single(Mul.name, node.draft.rounding))
    _import_op(node, op)


def _import_prelu(node: TfliteOperator) -> None:
    """Imports PRELU; widens i8 slopes for i16 data, keeping their integers."""
    x, slopes = node.operand(0, "the data"), node.operand(1, "the slopes")
    dtype, stored = node.tensor(x).dtype, node.tensor(slopes)
    if (dtype, stored.dtype) == (DType.I16, DType.I8) and slopes in node.draft.constants:
        wide = node.array(slopes).astype(np.int16)
        slopes = node.add_value(slopes, replace(stored, dtype=DType.I16), wide)
    op = Prelu(scales_in_single=scales_in_single(Prelu.name, node.draft.rounding))
    _import_op(replace(node, inputs=(x, slopes)), op)


def _import_op(node: TfliteOperator, op: Op) -> None:
    output = node.the_output
    whole = node.tensor(output).shape
    inputs = tuple(None if n is None else _of_rank(node, n, whole) for n in node.inputs)
    ranks = [node.tensor(name).rank for name in inputs if name is not None]
    if whole == () and max(ranks, default=0) > 0:  # one element, with more dimensions than declared
        node.reshaped_result(op, inputs, (1,) * max(ranks))
        return
    node.add_node(op, inputs, output)


def _of_rank(node: TfliteOperator, name: str, whole: tuple[int, ...]) -> str:
    """Returns the operand with as many dimensions as the result."""
    stored = node.tensor(name)
    shape = (1,) * (len(whole) - stored.rank) + stored.shape
    if shape == stored.shape or (stored.quant is not None and stored.quant.is_per_channel):
        return name
    if name in node.draft.constants:
        return node.constant_like(name, shape)
    return node.reshaped(name, shape)


def _import_add_n(node: TfliteOperator) -> None:
    """Imports ADD_N as sums of two."""
    names = node.operands("a term")
    output = node.the_output
    declared = node.tensor(output)
    if len(names) < 2:
        raise node.fail(f"a sum of {len(names)} terms is not supported", "a sum needs at least two terms")
    if declared.quant is not None:
        _import_quantised_sum(node, names)
        return
    total = _summed(node, names[:-1], declared)
    node.add_node(Add(), (total, names[-1]), output)


def _summed(node: TfliteOperator, names: list[str], tensor: TensorType) -> str:
    """Returns the sum of one or more values of that type."""
    total = names[0]
    for name in names[1:]:
        partial_sum = node.value_like(f"{node.label}/sum", tensor, tensor.shape)
        node.add_node(Add(), (total, name), partial_sum)
        total = partial_sum
    return total


def _import_quantised_sum(node: TfliteOperator, names: list[str]) -> None:
    """Adds stored integers and rounds once; the reference subtracts one zero point too many."""
    output = node.the_output
    terms, declared = [node.tensor(name) for name in names], node.tensor(output)
    quants = {(t.dtype, t.quant) for t in terms}
    if len(quants) > 1 or terms[0].dtype is not DType.I8 or len(names) > _MOST_TERMS:
        raise node.fail(
            f"a sum of {len(names)} quantized {terms[0].dtype.value} terms with {len(quants)} quantizations "
            "is not supported",
            f"supported: up to {_MOST_TERMS} i8 terms with the same quantization",
        )
    quant, plain = quant_of(terms[0]), TensorType(DType.I32, declared.shape)
    total = _summed(node, [_widened(node, name) for name in names], plain)
    zero_point = (len(names) + 1) * quant.zero_point << _FINER_BITS
    finer = Quant((quant.scale / (1 << _FINER_BITS),), (zero_point,))
    steps = node.add_value(f"{node.label}/steps", replace(plain, quant=finer))
    bits = np.full((1,) * plain.rank, _FINER_BITS, np.int32)
    by = node.add_value(f"{node.label}/bits", TensorType(DType.I32, bits.shape), bits)
    node.add_node(Combine(Combination.SHIFT_LEFT), (total, by), steps)
    node.add_node(Quantize(declared.dtype), (steps,), output)


def _widened(node: TfliteOperator, name: str) -> str:
    """Returns the stored integers in 32 bits."""
    wide = node.add_value(f"{node.label}/wide", TensorType(DType.I32, node.tensor(name).shape))
    node.add_node(Convert(DType.I32), (name,), wide)
    return wide


def _import_broadcast_args(node: TfliteOperator) -> None:
    """Computes the shape that two shapes broadcast to."""
    first, second = node.operand(0, "a shape"), node.operand(1, "a shape")
    stored, other = node.tensor(first), node.tensor(second)
    if stored.shape != other.shape or not stored.dtype.is_integer:
        raise node.fail(
            f"shapes of {list(stored.shape)} and {list(other.shape)} dimensions are not supported",
            "both must have the same number of dimensions",
        )
    one = np.ones((1,) * stored.rank, stored.dtype.numpy)
    ones = node.add_value(f"{node.label}/one", TensorType(stored.dtype, one.shape), one)
    is_one = node.add_value(f"{node.label}/is_one", TensorType(DType.BOOL, stored.shape))
    node.add_node(Compare(Relation.EQUAL), (first, ones), is_one)
    node.add_node(Select(), (is_one, second, first), node.the_output)


_FINER_BITS = 19  # extra precision of a quantized sum of many terms
_MOST_TERMS = 15  # their sum fits in 32 bits


def _plain(op: Op) -> Importer:
    return partial(_import_op, op=op)


_COMBINATIONS = {
    "ATAN2": Combination.ATAN2,
    "BITWISE_XOR": Combination.XOR,
    "FLOOR_DIV": Combination.FLOOR_DIV,
    "FLOOR_MOD": Combination.FLOOR_MOD,
    "LOGICAL_AND": Combination.AND,
    "LOGICAL_OR": Combination.OR,
    "MAXIMUM": Combination.MAXIMUM,
    "MINIMUM": Combination.MINIMUM,
    "POW": Combination.POWER,
    "RIGHT_SHIFT": Combination.SHIFT_RIGHT,
}
_RELATIONS = {
    "EQUAL": Relation.EQUAL,
    "GREATER": Relation.GREATER,
    "GREATER_EQUAL": Relation.GREATER_EQUAL,
    "LESS": Relation.LESS,
    "LESS_EQUAL": Relation.LESS_EQUAL,
    "NOT_EQUAL": Relation.NOT_EQUAL,
}
ARITHMETIC: dict[str, Importer] = {
    **{code: _plain(Combine(by)) for code, by in _COMBINATIONS.items()},
    **{code: _plain(Compare(relation)) for code, relation in _RELATIONS.items()},
    "ADD": partial(_import_fused, op_class=Add, options=tflite.AddOptions),
    "ADD_N": _import_add_n,
    "BROADCAST_ARGS": _import_broadcast_args,
    "DIV": _import_div,
    "MUL": _import_mul,
    "PRELU": _import_prelu,
    "SELECT": _plain(Select()),
    "SELECT_V2": _plain(Select()),
    "SQUARED_DIFFERENCE": _plain(SquaredDifference()),
    "SUB": partial(_import_fused, op_class=Sub, options=tflite.SubOptions),
}
