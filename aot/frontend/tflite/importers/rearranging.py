"""Adds nodes that select elements by strides."""

from __future__ import annotations

from math import prod

from aot.frontend.strides import rearrangement
from aot.frontend.tflite.draft import FOR_RECURRENT_LAYERS, TfliteDraft, TfliteOperator
from aot.frontend.tflite.importers import attributes as read
from aot.ir.strides import dense_strides
from aot.ops.rearrange import Loops
from aot.ops.reshape import Reshape


def rearrange(draft: TfliteDraft, operator: TfliteOperator, x: str, loops: Loops, output: str) -> None:
    """Sets `output` to the elements of x that the loops select, in order."""
    declared = draft.types[output]
    if 0 in loops.sizes:
        raise operator.fail(
            f"it makes shape {list(loops.sizes)}, which has no elements (an empty list)",
            FOR_RECURRENT_LAYERS,
        )
    if min(loops.sizes, default=1) < 1 or prod(loops.sizes) != declared.elements:
        raise operator.fail(
            f"it makes shape {list(loops.sizes)}, the file declares {list(declared.shape)}",
            "models need static shapes: convert with a fixed input shape",
        )
    found = rearrangement(draft.types[x], loops, declared.shape)
    if found is None:
        draft.add_node(operator, Reshape(declared.shape), (x,), output)
        return
    seen = read.reshaped(draft, operator, x, found.source)
    read.reshaped_into(draft, operator, found.op, (seen,), found.op.shape, output)


def repeated(operator: TfliteOperator, shape: tuple[int, ...], whole: tuple[int, ...]) -> Loops:
    """Returns loops that broadcast one shape to another."""
    ranked = (1,) * (len(whole) - len(shape)) + shape
    if len(ranked) != len(whole) or any(a not in (1, b) for a, b in zip(ranked, whole, strict=True)):
        raise operator.fail(f"shape {list(shape)} cannot be repeated to {list(whole)}")
    strides = dense_strides(ranked)
    return Loops(whole, tuple(0 if a == 1 else s for a, s in zip(ranked, strides, strict=True)))
