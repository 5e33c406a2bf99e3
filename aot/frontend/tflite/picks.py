"""Writes moved elements as TFLite operators: tables, slices, transpositions, gathers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import tflite

from aot.frontend.tflite.write_file import Sheet, Writer, input_of, view
from aot.ir.graph import Node
from aot.ir.types import Array, DType, TensorType
from aot.ops.constraints import violations
from aot.ops.gather import Gather
from aot.ops.lookup import table_of
from aot.ops.op import Op
from aot.ops.quantize import Quantize
from aot.ops.rearrange import Loops, Rearrange
from aot.ops.unary import HardSwish, Logistic, Tanh

# Operators on one element: code in TFLite's schema, and version.
_FUNCTIONS: tuple[tuple[Op, str, int, str], ...] = (
    (Quantize(DType.I8), "QUANTIZE", 1, "QuantizeOptions"),
    (Logistic(), "LOGISTIC", 2, ""),
    (Tanh(), "TANH", 2, ""),
    (HardSwish(), "HARD_SWISH", 1, "HardSwishOptions"),
)
_I32 = tflite.TensorType.INT32
_MOST_DIMENSIONS = 5  # of a slice


def _lookup(sheet: Sheet, node: Node) -> str | None:
    """Writes the operator with these results, or a gather from the table itself."""
    x, table = input_of(node), sheet.array(input_of(node, 1))
    if table is None:
        return "its table is not constant"
    source, target = sheet.value(x), sheet.value(node.outputs[0])
    types = sheet.type(x), sheet.type(node.outputs[0])
    for op, code, version, options in _FUNCTIONS:
        if _is_table_of(op, *types, table):
            sheet.operator(code, version, (source,), target, options)
            return None
    _gathered_from_table(sheet, node, table)
    return None


def _is_table_of(op: Op, x: TensorType, y: TensorType, table: Array) -> bool:
    if violations(op, (x,), (y,)):
        return False
    made = table_of(op, (None,), (x,), (y,))
    return made is not None and np.array_equal(made, table)


def _gathered_from_table(sheet: Sheet, node: Node, table: Array) -> None:
    """Gathers the table's entry for the stored integer, counted from the least."""
    x, y = sheet.type(input_of(node)), sheet.type(node.outputs[0])
    place = TensorType(DType.I32, x.shape)
    stored, places = (sheet.tensor(f"{node.name}/{name}", place) for name in ("stored", "places"))
    number = int(getattr(tflite.TensorType, {DType.I8: "INT8", DType.U8: "UINT8"}[x.dtype]))
    sheet.operator(
        "CAST", 1, (sheet.value(input_of(node)),), stored, "CastOptions", InDataType=number, OutDataType=_I32
    )
    least = sheet.integers(f"{node.name}/least", [-x.dtype.limits[0]])
    sheet.operator("ADD", 1, (stored, least), places, "AddOptions")
    entries = sheet.tensor(f"{node.name}/table", TensorType(y.dtype, table.shape, y.quant), table)
    sheet.operator("GATHER", 2, (entries, places), sheet.value(node.outputs[0]), "GatherOptions", Axis=0)


@dataclass(frozen=True)
class _Slice:
    """A part of a view whose dimensions are then transposed."""

    shape: tuple[int, ...]  # of the view
    begins: tuple[int, ...]
    sizes: tuple[int, ...]
    order: tuple[int, ...]  # of the slice's dimensions in the result


def _rearrange(sheet: Sheet, node: Node) -> None:
    op = node.op_as(Rearrange)
    x, y = input_of(node), node.outputs[0]
    found = _slice_of(op.loops.merged(), sheet.type(x).elements)
    if found is None:
        _picked_one_by_one(sheet, node, op.loops)
        return
    made = _seen_as(sheet, node, found.shape)
    if found.sizes != found.shape:
        begins, sizes = sheet.integers(f"{y}/begins", found.begins), sheet.integers(f"{y}/sizes", found.sizes)
        made = _step(sheet, node, "SLICE", (made, begins, sizes), found.sizes)
    if found.order != tuple(range(len(found.order))):
        order = sheet.integers(f"{y}/order", found.order)
        made = _step(sheet, node, "TRANSPOSE", (made, order), [found.sizes[axis] for axis in found.order])
    view(sheet, made, sheet.value(y), sheet.type(y).shape)


def _seen_as(sheet: Sheet, node: Node, shape: tuple[int, ...]) -> int:
    x = sheet.type(input_of(node))
    seen = sheet.tensor(f"{node.name}/source", TensorType(x.dtype, shape, x.quant))
    view(sheet, sheet.value(input_of(node)), seen, shape)
    return seen


def _step(sheet: Sheet, node: Node, code: str, inputs: Sequence[int], shape: Sequence[int]) -> int:
    x = sheet.type(input_of(node))
    made = sheet.tensor(f"{node.name}/{code.lower()}", TensorType(x.dtype, tuple(shape), x.quant))
    sheet.operator(code, 2, inputs, made, f"{code.title()}Options")
    return made


def _slice_of(loops: Loops, elements: int) -> _Slice | None:
    """Returns the slice read by loops whose strides divide each other like a view's; else None."""
    axes = sorted(range(len(loops.sizes)), key=lambda axis: -loops.strides[axis])
    strides, sizes = ([values[a] for a in axes] for values in (loops.strides, loops.sizes))
    outer = [elements, *strides]
    if min(strides, default=1) < 1 or any(a % b for a, b in zip(outer, strides, strict=False)):
        return None
    shape = [a // b for a, b in zip(outer, strides, strict=False)]
    begins, rest = [], loops.offset
    for stride in strides:
        begins.append(rest // stride)
        rest %= stride
    if strides[-1:] != [1]:  # one element of each innermost vector
        shape.append(strides[-1] if strides else elements)
        sizes, begins = [*sizes, 1], [*begins, rest]
    is_inside = all(b + n <= d for b, n, d in zip(begins, sizes, shape, strict=True))
    if not is_inside or len(shape) > _MOST_DIMENSIONS:
        return None
    order = [axes.index(axis) for axis in range(len(axes))]
    return _Slice(tuple(shape), tuple(begins), tuple(sizes), (*order, *range(len(order), len(sizes))))


def _picked_one_by_one(sheet: Sheet, node: Node, loops: Loops) -> None:
    y = node.outputs[0]
    flat = _seen_as(sheet, node, (sheet.type(input_of(node)).elements,))
    places = sheet.integers(f"{y}/places", loops.indices().reshape(sheet.type(y).shape))
    sheet.operator("GATHER", 2, (flat, places), sheet.value(y), "GatherOptions", Axis=0)


def _gather(sheet: Sheet, node: Node) -> str | None:
    """Writes a gather; computed indices must be in range already, because TFLite checks them."""
    op = node.op_as(Gather)
    x, indices = sheet.type(input_of(node)), sheet.array(input_of(node, 1))
    if indices is None:
        return "its indices are known only at run time"
    inside = np.clip(indices, 0, x.shape[op.axis] - 1)
    places = sheet.integers(f"{node.name}/places", inside)
    sheet.operator(
        "GATHER", 2, (sheet.value(input_of(node)), places), sheet.value(node.outputs[0]), "GatherOptions",
        Axis=op.axis, BatchDims=op.batches,
    )  # fmt: skip
    return None


PICKS: Mapping[str, Writer] = {"gather": _gather, "lookup": _lookup, "rearrange": _rearrange}
