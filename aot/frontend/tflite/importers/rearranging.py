"""Elements picked by strides, in the cheapest form: a view, row by row, or one vector out of another."""

from __future__ import annotations

from math import prod

from aot.frontend.tflite.draft import FOR_RECURRENT_LAYERS, TfliteDraft, TfliteOperator
from aot.frontend.tflite.importers import attributes as read
from aot.ir.strides import dense_strides
from aot.ir.types import TensorType
from aot.ops.rearrange import Loops, Rearrange, row_steps
from aot.ops.reshape import Reshape


def rearrange(draft: TfliteDraft, operator: TfliteOperator, x: str, loops: Loops, output: str) -> None:
    """`output` holds the elements of x that the loops pick, in order."""
    declared = draft.types[output]
    if 0 in loops.sizes:
        raise operator.fail(
            f"it makes shape {list(loops.sizes)}, which has no elements: a list of rows that a loop makes",
            FOR_RECURRENT_LAYERS,
        )
    if min(loops.sizes, default=1) < 1 or prod(loops.sizes) != declared.elements:
        raise operator.fail(
            f"it makes shape {list(loops.sizes)}, the file declares {list(declared.shape)}",
            "models need static shapes: convert with a fixed input shape",
        )
    source = draft.types[x]
    merged = loops.merged()
    if merged.offset == 0 and declared.elements == source.elements and merged.strides in ((), (1,)):
        draft.add_node(operator, Reshape(declared.shape), (x,), output)
    elif declared.shape == loops.sizes and _by_rows(source, loops):
        op = Rearrange(declared.shape, loops.sizes, loops.strides, loops.offset)
        draft.add_node(operator, op, (x,), output)
    else:
        shape = (1, declared.elements)
        op = Rearrange(shape, merged.sizes, merged.strides, merged.offset)
        vector = read.reshaped(draft, operator, x, (1, source.elements))
        read.reshaped_into(draft, operator, op, (vector,), shape, output)


def repeated(operator: TfliteOperator, shape: tuple[int, ...], whole: tuple[int, ...]) -> Loops:
    """The loops that repeat a tensor of one shape over another."""
    ranked = (1,) * (len(whole) - len(shape)) + shape
    if len(ranked) != len(whole) or any(a not in (1, b) for a, b in zip(ranked, whole, strict=True)):
        raise operator.fail(f"shape {list(shape)} cannot be repeated to {list(whole)}")
    strides = dense_strides(ranked)
    return Loops(whole, tuple(0 if a == 1 else s for a, s in zip(ranked, strides, strict=True)))


def _by_rows(source: TensorType, loops: Loops) -> bool:
    if source.rank != 4 or source.shape[0] != 1:
        return False
    return row_steps(loops, source.shape[2] * source.shape[3]) is not None
