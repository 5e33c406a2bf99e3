"""ADD, SUB and MUL."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import tflite

from aot.frontend.tflite.draft import Draft, Operator
from aot.frontend.tflite.importers import attributes as read
from aot.frontend.tflite.importers.rearranging import rearrange, repeated
from aot.ir.graph import Array
from aot.ir.types import TensorType
from aot.ops.binary import Add, Binary, Mul, Sub, repeats_simply


def import_add(draft: Draft, operator: Operator, mode: str) -> None:
    _import_binary(draft, operator, Add, operator.options(tflite.AddOptions).FusedActivationFunction())


def import_sub(draft: Draft, operator: Operator, mode: str) -> None:
    _import_binary(draft, operator, Sub, operator.options(tflite.SubOptions).FusedActivationFunction())


def import_mul(draft: Draft, operator: Operator, mode: str) -> None:
    _import_binary(draft, operator, Mul, operator.options(tflite.MulOptions).FusedActivationFunction())


def _import_binary(draft: Draft, operator: Operator, op_class: type[Binary], activation: int) -> None:
    op = op_class(activation=read.activation(operator, activation))
    output = read.the_output(operator)
    inputs = operator.inputs
    if len(inputs) == 2:
        whole = draft.types[output].shape
        inputs = tuple(None if name is None else _of_rank(draft, operator, name, whole) for name in inputs)
    draft.add_node(operator, op, inputs, output)


def _of_rank(draft: Draft, operator: Operator, name: str, whole: tuple[int, ...]) -> str:
    """The operand with as many dimensions as the result; written out where no kernel can repeat it."""
    stored = draft.types[name]
    shape = (1,) * (len(whole) - stored.rank) + stored.shape
    must_repeat = _fits(shape, whole) and not repeats_simply(shape, whole)
    if name in draft.constants:
        array = draft.constants[name].reshape(shape)
        array = np.broadcast_to(array, whole).copy() if must_repeat else array
        return name if array.shape == stored.shape else _add(draft, name, stored, array)
    if not must_repeat:
        return read.reshaped(draft, operator, name, shape)
    result = read.value_like(draft, f"{name}/repeated", stored, whole)
    rearrange(draft, operator, name, repeated(operator, shape, whole), result)
    return result


def _add(draft: Draft, name: str, stored: TensorType, array: Array) -> str:
    return draft.add_value(name, replace(stored, shape=array.shape), array)


def _fits(shape: tuple[int, ...], whole: tuple[int, ...]) -> bool:
    return len(shape) == len(whole) and all(a in (1, b) for a, b in zip(shape, whole, strict=True))
