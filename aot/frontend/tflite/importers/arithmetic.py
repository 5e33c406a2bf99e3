"""Operators of two operands, one perhaps repeated: arithmetic, extremes, logic, comparisons, selections."""

from __future__ import annotations

from functools import partial

import tflite

from aot.frontend.tflite.draft import Draft, Importer, Operator
from aot.frontend.tflite.importers import attributes as read
from aot.ir.types import DType
from aot.ops.activation import Activation
from aot.ops.binary import Add, Binary, Div, Mul, SquaredDifference, Sub
from aot.ops.combine import Combination, Combine
from aot.ops.compare import Compare, Relation
from aot.ops.op import Op
from aot.ops.rounding import scales_in_single
from aot.ops.select import Select


def _import_fused(
    draft: Draft, operator: Operator, mode: str, op_class: type[Binary], options: type[tflite.AddOptions]
) -> None:
    """Those that have an activation fused into them."""
    number = operator.options(options).FusedActivationFunction()
    _import_op(draft, operator, mode, op_class(activation=read.activation(operator, number)))


def _import_div(draft: Draft, operator: Operator, mode: str) -> None:
    """A real number divided by 0 is the largest there is, not infinity."""
    number = operator.options(tflite.DivOptions).FusedActivationFunction()
    activation = read.activation(operator, number)
    if activation is Activation.NONE and draft.types[read.the_output(operator)].dtype is DType.F32:
        activation = Activation.FINITE
    _import_op(draft, operator, mode, Div(activation))


def _import_mul(draft: Draft, operator: Operator, mode: str) -> None:
    number = operator.options(tflite.MulOptions).FusedActivationFunction()
    op = Mul(read.activation(operator, number), scales_in_single(Mul.name, mode))
    _import_op(draft, operator, mode, op)


def _import_op(draft: Draft, operator: Operator, mode: str, op: Op) -> None:
    output = read.the_output(operator)
    whole = draft.types[output].shape
    inputs = tuple(None if n is None else _of_rank(draft, operator, n, whole) for n in operator.inputs)
    ranks = [draft.types[name].rank for name in inputs if name is not None]
    if whole == () and max(ranks, default=0) > 0:  # one element, with more dimensions than are declared
        read.reshaped_result(draft, operator, op, inputs, (1,) * max(ranks))
        return
    draft.add_node(operator, op, inputs, output)


def _of_rank(draft: Draft, operator: Operator, name: str, whole: tuple[int, ...]) -> str:
    """The operand with as many dimensions as the result."""
    stored = draft.types[name]
    shape = (1,) * (len(whole) - stored.rank) + stored.shape
    if shape == stored.shape or (stored.quant is not None and stored.quant.is_per_channel):
        return name
    if name in draft.constants:
        return read.constant_like(draft, name, shape)
    return read.reshaped(draft, operator, name, shape)


def _import_add_n(draft: Draft, operator: Operator, mode: str) -> None:
    """Sums of two, one after the other."""
    names = [read.operand(operator, i, "a term") for i in range(len(operator.inputs))]
    output = read.the_output(operator)
    if len(names) < 2 or draft.types[output].quant is not None:
        raise operator.fail(
            f"a sum of {len(names)} terms of {draft.types[output].dtype.value} is not supported",
            "quantised sums of two terms and ADD are supported",
        )
    total = names[0]
    for name in names[1:-1]:
        partial_sum = read.value_like(draft, f"{output}/sum", draft.types[output], draft.types[output].shape)
        draft.add_node(operator, Add(), (total, name), partial_sum)
        total = partial_sum
    draft.add_node(operator, Add(), (total, names[-1]), output)


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
    "DIV": _import_div,
    "MUL": _import_mul,
    "SELECT": _plain(Select()),
    "SELECT_V2": _plain(Select()),
    "SQUARED_DIFFERENCE": _plain(SquaredDifference()),
    "SUB": partial(_import_fused, op_class=Sub, options=tflite.SubOptions),
}
