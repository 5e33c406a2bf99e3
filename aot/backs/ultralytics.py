"""Ultralytics' YOLO: boxes of the exported head or of the grids before it, selected like in its predict()."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aot.backs.back import are_planes, no_number, no_picture, picture_size, shapes_text
from aot.backs.detections import (
    CENTRE_AND_SIZE,
    BoxNumbers,
    above,
    around_centres,
    as_real,
    check_count,
    check_overlap,
    check_share,
    detected,
)
from aot.frontend.builder import AddedNodes
from aot.frontend.declared import DeclarationError
from aot.ir.graph import Graph
from aot.ops.binary import Add, Mul, Sub
from aot.ops.concat import Concat
from aot.ops.detect import Detect
from aot.ops.reduce import ArgExtreme, Reduce, Reduction
from aot.ops.softmax import Softmax
from aot.ops.unary import Logistic

# Heads of YOLO-like models: the layout of each box's numbers, and the grid cell of each box.


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


_OBJECT = CENTRE_AND_SIZE  # index of objectness in a box of YOLOv5
_CLASSES_5 = _OBJECT + 1
_SIDES = 4
_ANCHORS_5 = (10, 13, 16, 30, 33, 23, 30, 61, 62, 45, 59, 119, 116, 90, 156, 198, 373, 326)


@dataclass(frozen=True)
class _Boxes:
    """The boxes of one head: corners as fractions of the image, best score and its class, each [1, boxes]."""

    corners: list[AddedNodes]
    score: AddedNodes
    kind: AddedNodes


@dataclass(frozen=True, kw_only=True)
class Yolov5:
    """Expects center, size, objectness and class scores of each box; anchors are in pixels of the image."""

    conf_thres: float = 0.25
    iou_thres: float = 0.45
    max_det: int = 1000
    agnostic_nms: bool = False
    xywhn: bool = False
    anchors: tuple[float, ...] = _ANCHORS_5

    def check(self) -> None:
        """Raises DeclarationError for parameters that make no sense."""
        check_share("conf_thres", self.conf_thres)
        check_overlap("iou_thres", self.iou_thres)
        check_count("max_det", self.max_det)
        if len(self.anchors) % 2 or min(self.anchors) <= 0:
            raise DeclarationError(
                f"anchors has {len(self.anchors)} numbers, it must have a width and a height for each, "
                "all above 0"
            )

    def refusal(self, graph: Graph) -> str | None:
        """Returns why this model cannot have the back end; None if it can."""
        pairs, grids = len(self.anchors) // 2, len(graph.outputs)
        heads = self._heads(graph)
        is_whole = not isinstance(heads, str) and isinstance(heads[0], WholeHead)
        if pairs % grids and not is_whole:
            return f"there are {pairs} anchors for {grids} grids"
        return heads if isinstance(heads, str) else None

    def add(self, nodes: AddedNodes, graph: Graph) -> tuple[str, ...]:
        """Adds nodes after the heads; returns the names of the new outputs."""
        heads, size = self._heads(graph), picture_size(graph)
        assert not isinstance(heads, str)
        assert size is not None
        pairs = np.array(self.anchors).reshape(len(heads), -1, 2) if isinstance(heads[0], GridHead) else None
        boxes = []
        for number, head in enumerate(heads):
            if isinstance(head, WholeHead) or pairs is None:
                corners = _whole_corners(nodes, head.numbers, None if self.xywhn else size)
            else:
                corners = _grid_corners_5(nodes, head, pairs[number] / (size[1], size[0]))
            is_grid = isinstance(head, GridHead)
            score, kind = _best(nodes, head, _CLASSES_5, is_grid)
            certainty = head.numbers.column(nodes, "objectness", _OBJECT)
            if is_grid:
                certainty.then("objectness, 0 to 1", Logistic())
            score.then("score", Mul(), certainty.value)
            boxes.append(_Boxes(corners, score, kind))
        op = Detect(self.max_det, above(self.conf_thres), self.iou_thres, by_class=not self.agnostic_nms)
        return _chosen(boxes, op)

    def _heads(self, graph: Graph) -> list[Head] | str:
        anchors = max(1, len(self.anchors) // 2 // len(graph.outputs))
        return heads_of(graph, anchors, _CLASSES_5 + 1, boxes_last=False)


@dataclass(frozen=True, kw_only=True)
class Yolov8:
    """Expects boxes and class scores; grids give distributions of the distances from cell center to sides."""

    conf: float = 0.25
    iou: float = 0.7
    max_det: int = 300
    agnostic_nms: bool = False
    xywhn: bool = False
    reg_max: int = 16

    def check(self) -> None:
        """Raises DeclarationError for parameters that make no sense."""
        check_share("conf", self.conf)
        check_overlap("iou", self.iou)
        check_count("max_det", self.max_det)
        if not 1 <= self.reg_max <= 64:
            raise DeclarationError(f"reg_max must be 1 to 64, not {self.reg_max}")

    def refusal(self, graph: Graph) -> str | None:
        """Returns why this model cannot have the back end; None if it can."""
        heads = self._heads(graph)
        return heads if isinstance(heads, str) else None

    def add(self, nodes: AddedNodes, graph: Graph) -> tuple[str, ...]:
        """Adds nodes after the heads; returns the names of the new outputs."""
        heads, size = self._heads(graph), picture_size(graph)
        assert not isinstance(heads, str)
        boxes = []
        for head in heads:
            if isinstance(head, WholeHead):
                corners = _whole_corners(nodes, head.numbers, None if self.xywhn else size)
                first = CENTRE_AND_SIZE
            else:
                corners = _grid_corners_8(nodes, head, self.reg_max)
                first = _SIDES * self.reg_max
            boxes.append(_Boxes(corners, *_best(nodes, head, first, isinstance(head, GridHead))))
        op = Detect(self.max_det, above(self.conf), self.iou, by_class=not self.agnostic_nms)
        return _chosen(boxes, op)

    def _heads(self, graph: Graph) -> list[Head] | str:
        is_whole = len(graph.types[graph.outputs[0]].shape) == 3
        before_classes = CENTRE_AND_SIZE if is_whole else _SIDES * self.reg_max
        return heads_of(graph, 1, before_classes + 1, boxes_last=True)


def _best(nodes: AddedNodes, head: Head, first: int, is_grid: bool) -> tuple[AddedNodes, AddedNodes]:
    """Returns the best score of each box and its class, each [1, boxes]."""
    numbers = head.numbers
    classes = numbers.columns(nodes, "scores of classes", first, head.width - first)
    kind = classes.branch(classes.value)
    kind.then("best class", ArgExtreme(Reduction.MAXIMUM, 2))
    kind.view("class of each", 1, numbers.boxes)
    classes.then("best score", Reduce(Reduction.MAXIMUM, (2,)), quant=classes.type.quant)
    classes.view("score of each", 1, numbers.boxes)
    score = as_real(classes, "best score")
    if is_grid:
        score.then("best score, 0 to 1", Logistic())
    return score, kind


def _whole_corners(nodes: AddedNodes, numbers: BoxNumbers, size: tuple[int, int] | None) -> list[AddedNodes]:
    """Returns corners from centers and sizes, in pixels of an image of `size`, or as fractions of it."""
    height, width = size or (1, 1)
    found = []
    for number, (label, extent) in enumerate(
        (("x", width), ("y", height), ("width", width), ("height", height))
    ):
        column = numbers.column(nodes, label, number)
        if size is not None:
            column.then(f"{label} as share", Mul(), np.array([[1 / extent]], np.float32))
        found.append(column)
    return around_centres(*found)


def _grid_corners_5(nodes: AddedNodes, head: GridHead, anchors: np.ndarray) -> list[AddedNodes]:
    """Returns corners as fractions: centers reach half a cell beyond their cell, sizes four anchors."""
    found = []
    for number, (label, places, cells) in enumerate(
        (("x", head.across(-0.5), head.columns), ("y", head.down(-0.5), head.rows))
    ):
        centre = _sigmoid(nodes, head, label, number)
        centre.then(f"{label} in cell", Mul(), np.array([[2 / cells]], np.float32))
        centre.then(f"{label} as share", Add(), places)
        found.append(centre)
    for number, label in enumerate(("width", "height")):
        size = _sigmoid(nodes, head, label, number + 2)
        size.then(f"square of {label}", Mul(), size.value)
        size.then(f"{label} as share", Mul(), head.of_anchors(4 * anchors[:, number]))
        found.append(size)
    return around_centres(*found)


def _sigmoid(nodes: AddedNodes, head: GridHead, label: str, number: int) -> AddedNodes:
    column = head.numbers.column(nodes, label, number)
    column.then(f"{label}, 0 to 1", Logistic())
    return column


def _grid_corners_8(nodes: AddedNodes, head: GridHead, bins: int) -> list[AddedNodes]:
    """Returns left, top, right and bottom: the mean of each distribution, away from the cell's center."""
    across, down = head.across(0.5), head.down(0.5)
    sides = (("left", across, Sub()), ("top", down, Sub()), ("right", across, Add()), ("bottom", down, Add()))
    corners = []
    for number, (label, middle, op) in enumerate(sides):
        distance = _mean(nodes, head, label, number, bins)
        cells = head.columns if middle is across else head.rows
        distance.then(f"{label} as share", Mul(), np.array([[1 / cells]], np.float32))
        from_middle = distance.branch(distance.value)
        if isinstance(op, Sub):
            from_middle.then(f"minus {label}", Mul(), np.array([[-1.0]], np.float32))
        from_middle.then(f"{label} of box", Add(), middle)
        corners.append(from_middle)
    return corners


def _mean(nodes: AddedNodes, head: GridHead, label: str, number: int, bins: int) -> AddedNodes:
    """Returns a distance in cells, [1, boxes]."""
    if bins == 1:
        return head.numbers.column(nodes, f"distance {label}", number)
    made = as_real(head.numbers.columns(nodes, f"bins {label}", number * bins, bins), f"bins {label}")
    made.then(f"shares {label}", Softmax())
    made.then(f"parts {label}", Mul(), np.arange(bins, dtype=np.float32).reshape(1, 1, -1))
    made.then(f"distance {label}", Reduce(Reduction.SUM, (2,)))
    made.view(f"distance {label} of each", 1, head.numbers.boxes)
    return made


def _chosen(boxes: list[_Boxes], op: Detect) -> tuple[str, ...]:
    """Joins the boxes of all heads and selects the best ones."""
    labels = ("left", "top", "right", "bottom")
    corners = [_joined(f"all {label}", [b.corners[n] for b in boxes]) for n, label in enumerate(labels)]
    scores = _joined("all scores", [b.score for b in boxes])
    return detected(corners, op, scores, _joined("all classes", [b.kind for b in boxes]))


def _joined(label: str, parts: list[AddedNodes]) -> AddedNodes:
    first, *others = parts
    if others:
        first.then(label, Concat(axis=1), *(each.value for each in others))
    return first
