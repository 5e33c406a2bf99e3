"""Functions of boxes, shared by the kernels of detectors."""

from __future__ import annotations

import numpy as np

from aot.ir.types import DType
from aot.ops.detect import CORNERS, overlap
from codegen.isa.plain.f32 import literal
from codegen.loops.ir import ScalarFunction


def fit_beside(most: float) -> ScalarFunction:
    """f(corners of a box, corners of a better one) -> whether they overlap at most that much."""
    name = f"fits_{word_of(most)}"
    definition = f"""\
/* Whether the intersection of two boxes is at most {literal(most)} of their union. */
static inline int32_t {name}(float top, float left, float bottom, float right, float top2, float left2,
    float bottom2, float right2)
{{
    const float area = (bottom - top) * (right - left);
    const float area2 = (bottom2 - top2) * (right2 - left2);
    const float height = (bottom < bottom2 ? bottom : bottom2) - (top > top2 ? top : top2);
    const float width = (right < right2 ? right : right2) - (left > left2 ? left : left2);
    const float shared = height > 0.0f && width > 0.0f ? height * width : 0.0f;
    return area <= 0.0f || area2 <= 0.0f || shared / (area + area2 - shared) <= {literal(most)};
}}
"""

    def compute(*corners: float) -> int:
        both = np.array(corners, np.float32).reshape(2, CORNERS).T
        return int(overlap(both, 1, np.array([0]))[0] <= np.float32(most))

    return ScalarFunction(name, DType.I32, definition, compute)


def word_of(value: float) -> str:
    """Returns a number as a part of a function's name."""
    return "".join(c if c.isalnum() else "_" for c in literal(value))
