"""Finds the rows of each value that only move if the window moves on.

A value *slides* if each of its rows depends on a few rows of the window, in the same way for all rows. Rows
that depend on the padding around the window are its edges; all others are its interior. If the window moves
on, the interior of the new window is that of the old one, moved, and a few new rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np

from aot.ir.graph import Graph, Node
from aot.ir.types import TensorType
from aot.ops.average_pool2d import AveragePool2d
from aot.ops.concat import Concat
from aot.ops.conv2d import Conv2d
from aot.ops.dense import Dense
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.energy import Energy
from aot.ops.fft import Fft, RealSpectrum
from aot.ops.filter_bank import FilterBank
from aot.ops.l2_norm import L2Norm
from aot.ops.log_softmax import LogSoftmax
from aot.ops.max_pool2d import MaxPool2d
from aot.ops.mean import Mean
from aot.ops.op import Op
from aot.ops.pad import Pad
from aot.ops.rearrange import Rearrange
from aot.ops.reduce import ArgExtreme, Reduce
from aot.ops.reshape import Reshape
from aot.ops.softmax import Softmax
from aot.ops.spatial import Pair, extent
from aot.ops.windows import Windows


@dataclass(frozen=True, slots=True)
class Shift:
    """The rows of a value that slides: indices along `axis`, in the current window."""

    axis: int
    rows: int
    stride: int  # rows of the model's input per row
    first: int  # start of the interior
    stop: int  # end of the interior; first == stop == rows if there is none

    def newest(self, hop: int) -> int:
        """Returns the first interior row that the last window did not have."""
        return max(self.first, self.stop - hop // self.stride)


@dataclass(frozen=True, slots=True)
class Reach:
    """The input rows that an op reads: row r reads `span` rows from row r * stride - before on."""

    axis: int  # of the result's rows
    stride: int = 1
    span: int = 1
    before: int = 0

    def reads(self, first: int, stop: int) -> Pair:
        """Returns the input rows that a range of rows reads; they may be outside the input."""
        return first * self.stride - self.before, (stop - 1) * self.stride - self.before + self.span

    def shift(self, x: Shift, rows: int) -> Shift:
        """Returns how the result's rows move if those of the input do."""
        first = max(0, -(-(x.first + self.before) // self.stride))
        stop = min(rows, (x.stop + self.before - self.span) // self.stride + 1)
        if first >= stop:
            first = stop = rows
        return Shift(self.axis, rows, x.stride * self.stride, first, stop)


@dataclass(frozen=True, slots=True)
class Slides:
    """How the values of a model move, and the nodes that are computed whole for each window, with reasons."""

    shifts: Mapping[str, Shift]
    reaches: Mapping[str, Reach] = field(default_factory=dict)  # by node
    whole: Mapping[str, str] = field(default_factory=dict)  # node -> why


_Rule = Callable[[Node, Graph, int], Reach | str]  # of a node whose first sliding input has this axis
_NO_AXIS = "the rows of the window are no axis of its result"


def slides_along(graph: Graph, axis: int) -> Slides:
    """Returns how values move if the window is along this axis of the model's only input."""
    (value,) = graph.inputs
    rows = graph.types[value].shape[axis]
    found = Slides({value: Shift(axis, rows, 1, 0, rows)}, {}, {})
    shifts, reaches, whole = dict(found.shifts), dict[str, Reach](), dict[str, str]()
    for node in graph.nodes:
        inputs = [shifts[v] for v in node.reads if v in shifts]
        if not inputs:
            continue
        reach = _reach(node, graph, shifts)
        if isinstance(reach, str):
            whole[node.name] = reach
            continue
        reaches[node.name] = reach
        length = graph.types[node.outputs[0]].shape[reach.axis]
        shifts[node.outputs[0]] = _common([reach.shift(each, length) for each in inputs])
    return Slides(shifts, reaches, whole)


def _common(shifts: list[Shift]) -> Shift:
    """Returns the interior that all inputs allow."""
    first, stop = max(s.first for s in shifts), min(s.stop for s in shifts)
    each = shifts[0]
    return replace(each, first=first, stop=stop) if first < stop else replace(each, first=each.rows)


def _reach(node: Node, graph: Graph, shifts: Mapping[str, Shift]) -> Reach | str:
    moving = [(number, v) for number, v in enumerate(node.inputs) if v is not None and v in shifts]
    other = [v for v in node.reads if v not in shifts and v not in graph.constants]
    if other:
        return f'"{other[0]}" is another one for each window'
    if len(node.outputs) > 1:
        return "it has several results"
    if node.op.elementwise:
        return _elementwise(node, graph, shifts)
    if isinstance(node.op, Concat):
        return _joined(node, graph, shifts)
    if [number for number, _ in moving] != [0]:
        return "its weights are computed from the window"
    rule = _RULES.get(type(node.op))
    if rule is None:
        return f"{node.op.name} may read all rows for each row"
    return rule(node, graph, shifts[moving[0][1]].axis)


def _elementwise(node: Node, graph: Graph, shifts: Mapping[str, Shift]) -> Reach | str:
    out = graph.types[node.outputs[0]]
    found: set[tuple[int, int, int]] = set()
    for number, value in enumerate(node.inputs):
        if value is None:
            continue
        kind, shift = graph.types[value], shifts.get(value)
        if number not in node.op.elementwise:
            if shift is not None:
                return "it looks its rows up"
        elif shift is not None:
            found.add((shift.axis + out.rank - kind.rank, shift.rows, shift.stride))
    if len(found) != 1:
        return "the rows of its inputs come at different distances"
    ((axis, rows, _),) = found
    if axis >= out.rank or out.shape[axis] != rows:
        return _NO_AXIS
    for value in node.reads:
        kind = graph.types[value]
        its = axis - out.rank + kind.rank
        if value not in shifts and its >= 0 and kind.rank and kind.shape[its] != 1 and _is_along(node, value):
            return f'"{value}" has another value for each row'
    return Reach(axis)


def _is_along(node: Node, value: str) -> bool:
    return any(node.inputs[number] == value for number in node.op.elementwise if number < len(node.inputs))


def _joined(node: Node, graph: Graph, shifts: Mapping[str, Shift]) -> Reach | str:
    fixed = [v for v in node.reads if v not in shifts]
    if fixed:
        return f'"{fixed[0]}" has another value for each row'
    found = {(s.axis, s.rows, s.stride) for s in (shifts[v] for v in node.reads)}
    if len(found) != 1:
        return "the rows of its inputs come at different distances"
    ((axis, _, _),) = found
    return "it joins rows" if axis == node.op_as(Concat).axis else Reach(axis)


def _windows(node: Node, graph: Graph, axis: int) -> Reach | str:
    op, kind = node.op, graph.types[node.outputs[0]]
    if axis not in (1, 2):
        return "each of its results reads all rows"
    place = axis - 1
    if isinstance(op, Pad):
        return Reach(axis, before=op.padding[place][0])
    if isinstance(op, AveragePool2d | MaxPool2d):
        size, dilation = op.size[place], 1
    else:
        assert isinstance(op, Conv2d | DepthwiseConv2d)
        weights = graph.types[node.reads[1]].shape
        size, dilation = weights[place + (1 if isinstance(op, Conv2d) else 0)], op.dilation[place]
    if kind.shape[axis] == 1:
        return "its window has all rows"
    return Reach(axis, op.stride[place], extent(size, dilation), op.padding[place][0])


def _cut(node: Node, graph: Graph, axis: int) -> Reach | str:
    """Windows of a line of pixels, whose rows may be cut in the middle of the input's rows."""
    op, columns = node.op_as(Windows), graph.types[node.reads[0]].shape[2]
    if axis != 1:
        return "each of its results reads all rows"
    before = -(-op.before // columns)
    span = -(-(before * columns - op.before + op.length) // columns)
    return Reach(1, op.step // columns, span, before)


def _reshaped(node: Node, graph: Graph, axis: int) -> Reach | str:
    before, after = graph.types[node.reads[0]].shape, graph.types[node.outputs[0]].shape
    for its, size in enumerate(after):
        if size > 1 and prod(after[:its]) == prod(before[:axis]) and before[axis] % size == 0:
            return Reach(its, before[axis] // size, before[axis] // size)
    return _NO_AXIS


def _rearranged(node: Node, graph: Graph, axis: int) -> Reach | str:
    """Finds the loop along rows."""
    op, x = node.op_as(Rearrange), graph.types[node.reads[0]]
    if op.sizes != op.shape:
        return _NO_AXIS
    inner, rows = prod(x.shape[axis + 1 :]), x.shape[axis]
    read = (op.loops.indices() // inner % rows).reshape(op.shape)
    for its, size in enumerate(op.shape):
        line = np.moveaxis(read, its, 0).reshape(size, -1)
        step = int(line[1, 0] - line[0, 0]) if size > 1 else 0
        start = int(line[0, 0])
        if step > 0 and (line == (start + step * np.arange(size))[:, None]).all():
            stays = [_within(stride, inner, inner * rows) for stride in op.strides]
            is_row = op.strides[its] == step * inner and all(stays[:its] + stays[its + 1 :])
            return Reach(its, step, 1, -start) if is_row else _NO_AXIS
    return _NO_AXIS


def _within(stride: int, row: int, block: int) -> bool:
    """Returns whether a stride goes to another element of the row, or to the same row of another block."""
    return abs(stride - round(stride / block) * block) < row


def _along_others(node: Node, graph: Graph, axis: int) -> Reach | str:
    """Ops that reduce other axes, which stay."""
    op = node.op
    assert isinstance(op, Mean | Reduce | ArgExtreme)
    axes = (op.axis,) if isinstance(op, ArgExtreme) else op.axes
    return f"it computes the {_summary(op)} of all rows" if axis in axes else Reach(axis)


def _summary(op: Op) -> str:
    return op.by.value if isinstance(op, Reduce | ArgExtreme) else op.name


def _by_vector(node: Node, graph: Graph, axis: int) -> Reach | str:
    """Ops that compute each vector along the last axis for itself."""
    last = graph.types[node.reads[0]].rank - 1
    return Reach(axis) if axis < last else "each of its results reads all rows"


_RULES: Mapping[type[Op], _Rule] = {
    **dict.fromkeys((Conv2d, DepthwiseConv2d, AveragePool2d, MaxPool2d, Pad), _windows),
    **dict.fromkeys((Mean, Reduce, ArgExtreme), _along_others),
    **dict.fromkeys((Dense, Softmax, LogSoftmax, L2Norm), _by_vector),
    **dict.fromkeys((Fft, RealSpectrum, Energy, FilterBank), _by_vector),
    Windows: _cut,
    Reshape: _reshaped,
    Rearrange: _rearranged,
}


def of_rows(op: Op, x: TensorType, axis: int, reach: Reach, read: Pair, rows: int) -> Op:
    """Returns the op for some rows of its result: it reads rows `read`, those outside of x are padding."""
    below, above = max(0, -read[0]), max(0, read[1] - x.shape[axis])
    if isinstance(op, Conv2d | DepthwiseConv2d | AveragePool2d | MaxPool2d | Pad):
        padding = list(op.padding)
        padding[axis - 1] = (below, above)
        return replace(op, padding=(padding[0], padding[1]))
    if isinstance(op, Windows):
        begins = read[0] + reach.before  # input rows before the first result, without padding
        pixels = max(0, read[0]) - begins
        return replace(op, rows=rows, before=op.before + pixels * x.shape[2])
    if isinstance(op, Reshape):
        return Reshape(_with_rows(op.shape, reach.axis, rows))
    if isinstance(op, Rearrange):
        return _of_fewer(op, x, axis, reach, read[1] - read[0], rows)
    return op


def _of_fewer(op: Rearrange, x: TensorType, axis: int, reach: Reach, taken: int, rows: int) -> Rearrange:
    """Returns the rearrangement of `taken` input rows: strides across all rows become shorter."""
    inner = prod(x.shape[axis + 1 :])
    block = inner * x.shape[axis]
    strides = [
        stride if its == reach.axis else stride - round(stride / block) * (block - inner * taken)
        for its, stride in enumerate(op.strides)
    ]
    offset = op.offset // block * inner * taken + op.offset % inner
    shape = _with_rows(op.shape, reach.axis, rows)
    return Rearrange(shape, shape, tuple(strides), offset)


def with_rows(kind: TensorType, axis: int, rows: int) -> TensorType:
    """Returns the type with another number of rows."""
    return replace(kind, shape=_with_rows(kind.shape, axis, rows))


def _with_rows(shape: tuple[int, ...], axis: int, rows: int) -> tuple[int, ...]:
    return (*shape[:axis], rows, *shape[axis + 1 :])
