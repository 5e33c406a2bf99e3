"""Detections: boxes that overlap, fewer than asked for, none above the least score."""

from __future__ import annotations

from op_case import OpCase, float32, op_case

from aot.ir.types import DType, TensorType
from aot.ops.detect import Detect


def case(name: str, op: Detect, boxes: int) -> OpCase:
    vectors = [float32(1, boxes)] * 5
    return op_case(f"detect_{name}", op, [*vectors, TensorType(DType.I32, (1, boxes))], float32())


CASES = (
    case("three", Detect(3, -1.0, 0.3), 20),
    case("fewer_than_asked_for", Detect(9, 0.5, 0.2), 7),
    case("none", Detect(2, 100.0, 0.5), 5),
    case("one_box", Detect(1, -9.0, 1.0), 1),
)
