"""ADD, RESHAPE and SOFTMAX."""

from __future__ import annotations

import math

import tflite

from aot.frontend.tflite.draft import Draft, Operator
from aot.frontend.tflite.importers import attributes as read
from aot.ops.add import Add
from aot.ops.reshape import Reshape
from aot.ops.softmax import Softmax


def import_add(draft: Draft, operator: Operator, mode: str) -> None:
    options = operator.options(tflite.AddOptions)
    op = Add(activation=read.activation(operator, options.FusedActivationFunction()))
    draft.add_node(operator, op, operator.inputs, read.the_output(operator))


def import_reshape(draft: Draft, operator: Operator, mode: str) -> None:
    """The result's declared shape is the new shape; a shape computed at run time is refused."""
    x = read.operand(operator, 0, "the data")
    shape = read.optional_operand(operator, 1)
    if shape is not None and shape not in draft.constants:
        raise operator.fail(
            f'its new shape "{shape}" must be constant', "convert the model with a fixed input shape"
        )
    output = read.the_output(operator)
    draft.add_node(operator, Reshape(draft.types[output].shape), (x,), output)


def import_softmax(draft: Draft, operator: Operator, mode: str) -> None:
    beta = float(operator.options(tflite.SoftmaxOptions).Beta())
    if not (math.isfinite(beta) and beta > 0):
        raise operator.fail(f"beta {beta} must be positive", "get or convert the file again")
    draft.add_node(operator, Softmax(beta), operator.inputs, read.the_output(operator))
