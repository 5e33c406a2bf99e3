"""Operators with two operands, broadcast if necessary: arithmetic, extremes, logic, comparisons, select."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import tflite

from aot.frontend.tflite.draft import Importer, TfliteDraft, TfliteOperator
from aot.frontend.tflite.importers import attributes as read
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


def _import_fused(
    draft: TfliteDraft, operator: TfliteOperator, op_class: type[BinaryOp], options: type[tflite.AddOptions]
) -> None:
    """Imports operators that have a fused activation."""
    activation = read.activation(operator, operator.options(options).FusedActivationFunction())
    dtype = draft.types[read.the_output(operator)].dtype
    if op_class is Add and dtype is DType.I32 and draft.rounding == "tflm":
        activation = Activation.NONE  # TFLite Micro's kernel ignores it
    _import_op(draft, operator, op_class(activation=activation))


def _import_div(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Imports DIV; a float divided by 0 gives the largest finite number, not infinity."""
    number = operator.options(tflite.DivOptions).FusedActivationFunction()
    activation = read.activation(operator, number)
    if activation is Activation.NONE and draft.types[read.the_output(operator)].dtype is DType.F32:
        activation = Activation.FINITE
    _import_op(draft, operator, Div(activation))


def _import_mul(draft: TfliteDraft, operator: TfliteOperator) -> None:
    number = operator.options(tflite.MulOptions).FusedActivationFunction()
    op = Mul(read.activation(operator, number), scales_in_single(Mul.name, draft.rounding))
    _import_op(draft, operator, op)


def _import_prelu(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Imports PRELU; widens i8 slopes for i16 data, keeping their integers."""
    x, slopes = read.operand(operator, 0, "the data"), read.operand(operator, 1, "the slopes")
    dtype, stored = draft.types[x].dtype, draft.types[slopes]
    if (dtype, stored.dtype) == (DType.I16, DType.I8) and slopes in draft.constants:
        wide = draft.constants[slopes].astype(np.int16)
        slopes = draft.add_value(slopes, replace(stored, dtype=DType.I16), wide)
    op = Prelu(scales_in_single=scales_in_single(Prelu.name, draft.rounding))
    _import_op(draft, replace(operator, inputs=(x, slopes)), op)


def _import_op(draft: TfliteDraft, operator: TfliteOperator, op: Op) -> None:
    output = read.the_output(operator)
    whole = draft.types[output].shape
    inputs = tuple(None if n is None else _of_rank(draft, operator, n, whole) for n in operator.inputs)
    ranks = [draft.types[name].rank for name in inputs if name is not None]
    if whole == () and max(ranks, default=0) > 0:  # one element, with more dimensions than declared
        read.reshaped_result(draft, operator, op, inputs, (1,) * max(ranks))
        return
    draft.add_node(operator, op, inputs, output)


def _of_rank(draft: TfliteDraft, operator: TfliteOperator, name: str, whole: tuple[int, ...]) -> str:
    """Returns the operand with as many dimensions as the result."""
    stored = draft.types[name]
    shape = (1,) * (len(whole) - stored.rank) + stored.shape
    if shape == stored.shape or (stored.quant is not None and stored.quant.is_per_channel):
        return name
    if name in draft.constants:
        return read.constant_like(draft, name, shape)
    return read.reshaped(draft, operator, name, shape)


def _import_add_n(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Imports ADD_N as sums of two."""
    names = read.operands(operator, "a term")
    output = read.the_output(operator)
    declared = draft.types[output]
    if len(names) < 2:
        raise operator.fail(f"a sum of {len(names)} terms is not supported", "a sum needs at least two terms")
    if declared.quant is not None:
        _import_quantised_sum(draft, operator, names)
        return
    total = _summed(draft, operator, names[:-1], declared)
    draft.add_node(operator, Add(), (total, names[-1]), output)


def _summed(draft: TfliteDraft, operator: TfliteOperator, names: list[str], tensor: TensorType) -> str:
    """Returns the sum of one or more values of that type."""
    total = names[0]
    for name in names[1:]:
        partial_sum = read.value_like(draft, f"{operator.label}/sum", tensor, tensor.shape)
        draft.add_node(operator, Add(), (total, name), partial_sum)
        total = partial_sum
    return total


def _import_quantised_sum(draft: TfliteDraft, operator: TfliteOperator, names: list[str]) -> None:
    """Adds stored integers and rounds once; the reference subtracts one zero point too many."""
    output = read.the_output(operator)
    terms, declared = [draft.types[name] for name in names], draft.types[output]
    quants = {(t.dtype, t.quant) for t in terms}
    if len(quants) > 1 or terms[0].dtype is not DType.I8 or len(names) > _MOST_TERMS:
        raise operator.fail(
            f"a sum of {len(names)} quantized {terms[0].dtype.value} terms with {len(quants)} quantizations "
            "is not supported",
            f"supported: up to {_MOST_TERMS} i8 terms with the same quantization",
        )
    quant, plain = quant_of(terms[0]), TensorType(DType.I32, declared.shape)
    total = _summed(draft, operator, [_widened(draft, operator, name) for name in names], plain)
    zero_point = (len(names) + 1) * quant.zero_point << _FINER_BITS
    finer = Quant((quant.scale / (1 << _FINER_BITS),), (zero_point,))
    steps = draft.add_value(f"{operator.label}/steps", replace(plain, quant=finer))
    bits = np.full((1,) * plain.rank, _FINER_BITS, np.int32)
    by = draft.add_value(f"{operator.label}/bits", TensorType(DType.I32, bits.shape), bits)
    draft.add_node(operator, Combine(Combination.SHIFT_LEFT), (total, by), steps)
    draft.add_node(operator, Quantize(declared.dtype), (steps,), output)


def _widened(draft: TfliteDraft, operator: TfliteOperator, name: str) -> str:
    """Returns the stored integers in 32 bits."""
    wide = draft.add_value(f"{operator.label}/wide", TensorType(DType.I32, draft.types[name].shape))
    draft.add_node(operator, Convert(DType.I32), (name,), wide)
    return wide


def _import_broadcast_args(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Computes the shape that two shapes broadcast to."""
    first, second = read.operand(operator, 0, "a shape"), read.operand(operator, 1, "a shape")
    stored, other = draft.types[first], draft.types[second]
    if stored.shape != other.shape or not stored.dtype.is_integer:
        raise operator.fail(
            f"shapes of {list(stored.shape)} and {list(other.shape)} dimensions are not supported",
            "both must have the same number of dimensions",
        )
    one = np.ones((1,) * stored.rank, stored.dtype.numpy)
    ones = draft.add_value(f"{operator.label}/one", TensorType(stored.dtype, one.shape), one)
    is_one = draft.add_value(f"{operator.label}/is_one", TensorType(DType.BOOL, stored.shape))
    draft.add_node(operator, Compare(Relation.EQUAL), (first, ones), is_one)
    draft.add_node(operator, Select(), (is_one, second, first), read.the_output(operator))


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
