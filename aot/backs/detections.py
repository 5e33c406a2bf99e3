"""Shared parts of object detection back ends: read boxes from a model's outputs, and output boxes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aot.frontend.builder import AddedNodes
from aot.frontend.declared import DeclarationError
from aot.ir.types import DType
from aot.ops.binary import Add, Mul, Sub
from aot.ops.convert import Convert
from aot.ops.detect import CORNERS, Detect
from aot.ops.quantize import Dequantize
from aot.ops.rearrange import Rearrange

MOST_BOXES = 1 << 10
CENTRE_AND_SIZE = 4


@dataclass(frozen=True)
class BoxNumbers:
    """The layout of box numbers in an output: numbers of a box are `step` apart, boxes have strides."""

    value: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    step: int = 1

    @property
    def boxes(self) -> int:
        return int(np.prod(self.sizes))

    def column(self, nodes: AddedNodes, label: str, number: int) -> AddedNodes:
        """Returns one number of each box as floats, [1, boxes]."""
        picked = self._picked(nodes, label, number, 1)
        picked.view(f"{label} of each", 1, self.boxes)
        return as_real(picked, label)

    def columns(self, nodes: AddedNodes, label: str, first: int, count: int) -> AddedNodes:
        """Returns several numbers of each box as stored, [1, boxes, count]."""
        return self._picked(nodes, label, first, count)

    def _picked(self, nodes: AddedNodes, label: str, first: int, count: int) -> AddedNodes:
        made = nodes.branch(self.value)
        quant, shape = made.type.quant, (1, self.boxes, count)
        sizes, strides = (*self.sizes, count), (*self.strides, self.step)
        made.then(label, Rearrange(shape, sizes, strides, first * self.step), quant=quant)
        return made


def as_real(nodes: AddedNodes, label: str) -> AddedNodes:
    if nodes.type.dtype is not DType.F32:
        nodes.then(f"{label} as numbers", Dequantize())
    return nodes


def around_centres(x: AddedNodes, y: AddedNodes, width: AddedNodes, height: AddedNodes) -> list[AddedNodes]:
    """Returns left, top, right and bottom of boxes given by center and size."""
    ends = []
    for side, op in (("near", Sub()), ("far", Add())):
        for label, centre, size in (("x", x, width), ("y", y, height)):
            half = size.branch(size.value)
            half.then(f"half of {label}, {side}", Mul(), np.array([[0.5]], np.float32))
            end = centre.branch(centre.value)
            end.then(f"{side} {label}", op, half.value)
            ends.append(end)
    return ends


def detected(
    corners: list[AddedNodes], op: Detect, scores: AddedNodes, kinds: AddedNodes | None = None
) -> tuple[str, ...]:
    """Returns the selected boxes, as outputs."""
    left, top, right, bottom = (each.value for each in corners)
    nodes = scores.branch(left)
    nodes.then("found", op, top, right, bottom, scores.value, *(() if kinds is None else (kinds.value,)))
    return listed_boxes(nodes, op.count)


def listed_boxes(nodes: AddedNodes, count: int, scale: tuple[float, float] | None = None) -> tuple[str, ...]:
    """Returns the parts of a list of boxes, as outputs; `scale` converts x and y to image fractions."""
    listed, first_kind, first_score = nodes.value, count * CORNERS, count * (CORNERS + 1)
    boxes, kinds, scores, found = (nodes.branch(listed) for _ in range(4))
    label = "boxes" if scale is None else "boxes in cells"
    boxes.then(label, Rearrange((1, count, CORNERS), (first_kind,), (1,), 0))
    if scale is not None:
        boxes.then("boxes", Mul(), np.array([[[*scale, *scale]]], np.float32))
    kinds.then("classes as numbers", Rearrange((1, count), (count,), (1,), first_kind))
    kinds.then("classes", Convert(DType.I32))
    scores.then("scores", Rearrange((1, count), (count,), (1,), first_score))
    found.then("count as number", Rearrange((1, 1), (1,), (1,), count * (CORNERS + 2)))
    found.then("count", Convert(DType.I32))
    return boxes.value, kinds.value, scores.value, found.value


def above(score: float) -> float:
    """Returns the smallest float above a score, because box libraries compare with "greater than"."""
    return float(np.nextafter(np.float32(score), np.float32(np.inf)))


def check_share(name: str, value: float, least: float = 0.0) -> None:
    if not least <= value <= 1:
        raise DeclarationError(f"{name} must be {least:g} to 1, not {value:g}")


def check_overlap(name: str, value: float) -> None:
    if not 0 < value <= 1:
        raise DeclarationError(f"{name} must be above 0 and at most 1, not {value:g}")


def check_count(name: str, value: int) -> None:
    if not 1 <= value <= MOST_BOXES:
        raise DeclarationError(f"{name} must be 1 to {MOST_BOXES} boxes, not {value}")
