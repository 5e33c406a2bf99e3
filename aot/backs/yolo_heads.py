"""Heads of YOLO-like models: the layout of each box's numbers, and the grid cell of each box."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aot.backs.back import are_planes, no_number, no_picture, picture_size, shapes_text
from aot.backs.detections import BoxNumbers
from aot.ir.graph import Graph

_FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True)
class WholeHead:
    """Boxes of all grids, decoded by the model."""

    numbers: BoxNumbers
    width: int  # numbers per box


@dataclass(frozen=True)
class GridHead:
    """One grid as the network outputs it: boxes of the first anchor row by row, then those of the second."""

    numbers: BoxNumbers
    width: int
    rows: int
    columns: int
    anchors: int

    def across(self, shift: float) -> _FloatArray:
        """Returns the horizontal position of each box's cell as a fraction of the grid, [1, boxes]."""
        return self._of_cells((np.arange(self.columns)[None, :] + shift) / self.columns)

    def down(self, shift: float) -> _FloatArray:
        return self._of_cells((np.arange(self.rows)[:, None] + shift) / self.rows)

    def of_anchors(self, numbers: npt.NDArray[np.float64]) -> _FloatArray:
        """Expands a number per anchor to one per box."""
        return np.repeat(numbers, self.rows * self.columns).astype(np.float32)[None]

    def _of_cells(self, cells: npt.NDArray[np.float64]) -> _FloatArray:
        grid = np.broadcast_to(cells, (self.anchors, self.rows, self.columns))
        return grid.astype(np.float32).reshape(1, -1)


Head = WholeHead | GridHead


def heads_of(graph: Graph, anchors: int, least_width: int, *, boxes_last: bool) -> list[Head] | str:
    """Returns the model's heads, or why they are not supported; boxes_last is the layout of a whole head."""
    refusal = no_number(graph, graph.outputs) or no_picture(graph)
    if refusal is not None:
        return refusal
    shapes = [graph.types[name].shape for name in graph.outputs]
    if len(shapes) == 1 and len(shapes[0]) == 3 and shapes[0][0] == 1:
        found: list[Head | None] = [_whole(graph.outputs[0], shapes[0], boxes_last)]
    else:
        found = [_grid(graph, name, anchors) for name in graph.outputs]
    heads = [head for head in found if head is not None]
    if len(heads) < len(found) or len({head.width for head in heads}) != 1 or heads[0].width < least_width:
        return (
            f"the heads have {least_width} numbers or more for each of {anchors} boxes in a cell, "
            f"but the model's outputs are {shapes_text(graph)}"
        )
    return heads


def _whole(name: str, shape: tuple[int, ...], boxes_last: bool) -> Head:
    _, first, second = shape
    if boxes_last:
        return WholeHead(BoxNumbers(name, (second,), (1,), second), first)
    return WholeHead(BoxNumbers(name, (first,), (second,)), second)


def _grid(graph: Graph, name: str, anchors: int) -> Head | None:
    """Reads [1, anchors, rows, columns, numbers], or the image's layout with all anchors as channels."""
    shape, size = graph.types[name].shape, picture_size(graph)
    assert size is not None  # no_picture has checked this
    if len(shape) == 5:
        _, count, rows, columns, width = shape
        strides, step, channels = (rows * columns * width, width), 1, count * width
    elif len(shape) == 4 and are_planes(graph):
        _, channels, rows, columns = shape
        width = channels // anchors
        strides, step = (rows * columns * width, 1), rows * columns
    elif len(shape) == 4:
        _, rows, columns, channels = shape
        width = channels // anchors
        strides, step = (width, channels), 1
    else:
        return None
    if shape[0] != 1 or channels != anchors * width or size[0] * columns != size[1] * rows:
        return None
    return GridHead(BoxNumbers(name, (anchors, rows * columns), strides, step), width, rows, columns, anchors)
