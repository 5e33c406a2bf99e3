"""Computes functions of bfloat16 step by step, rounding each result as in ONNX's reference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import NodeProto, TensorProto

from aot.frontend.onnx.draft import Item, NodePlace, OnnxDraft, Value
from aot.frontend.onnx.elements import NARROW
from aot.frontend.onnx.operation import RunNode

MOST_ADDED = 64  # elements of a softmax: their sum is rounded after each one
_SHAPED = ("Expand", "Identity", "Pad", "Reshape", "Squeeze", "Transpose", "Unsqueeze")
_PICKED = ("Cast", "CastLike", "Concat", "Gather", "ReduceMax", "Slice", "Split", "Where")
_MOVES = frozenset((*_SHAPED, *_PICKED))


def is_bfloat16(item: Item | None) -> bool:
    return isinstance(item, Value) and item.element == TensorProto.BFLOAT16


def rounded(
    draft: OnnxDraft, node: NodeProto, results: Sequence[Item | None], place: NodePlace
) -> list[Item | None]:
    """Returns the results of a node, bfloat16 ones rounded; moved or selected elements already are."""
    if node.op_type in _MOVES:
        return list(results)
    return [
        _rounded(draft, item, place) if isinstance(item, Value) and is_bfloat16(item) else item
        for item in results
    ]


def _rounded(draft: OnnxDraft, value: Value, place: NodePlace) -> Value:
    name = draft.apply(place, NARROW[TensorProto.BFLOAT16], (value.name,))
    return Value(name, value.order, value.element)


def softmax_by_steps(
    draft: OnnxDraft, run: RunNode, node: NodeProto, x: Value, place: NodePlace
) -> tuple[Value, ...]:
    """Computes a softmax whose sum is rounded after each element. Raises ModelError if it is too long."""
    shape = draft.shape(x)
    given = next((a.i for a in node.attribute if a.name == "axis"), -1)
    axis = given % len(shape)
    if shape[axis] > MOST_ADDED:
        raise place.fail(
            f"Softmax of {shape[axis]} numbers in bfloat16 is not supported, the limit is {MOST_ADDED}",
            "export the model in float32",
        )

    def do(operator: str, *operands: Value, count: int = 1, **attributes: object) -> list[Value]:
        names = [f"made{number}" for number in range(count)]
        step = onnx.helper.make_node(operator, [""] * len(operands), names, **attributes)
        made = rounded(draft, step, run(step, operands, place), place)
        return [value for value in made if isinstance(value, Value)]

    axes = Value(draft.constant(np.array([axis], np.int64), f"{place.label}/axes"), (0,), TensorProto.INT64)
    (most,) = do("ReduceMax", x, axes, keepdims=1)
    (powers,) = do("Exp", *do("Sub", x, most))
    total, *others = do("Split", powers, count=shape[axis], axis=axis, num_outputs=shape[axis])
    for other in others:
        (total,) = do("Add", total, other)
    return tuple(do("Div", powers, total))
