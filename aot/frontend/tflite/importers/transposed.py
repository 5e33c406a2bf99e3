"""Transposes constants."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from aot.frontend.tflite.draft import TfliteDraft

Shape = tuple[int, ...]


def transposed_constant(draft: TfliteDraft, name: str, seen: Shape, order: Shape, shape: Shape) -> str:
    """Returns the constant viewed in one shape, transposed, and viewed in another shape."""
    array = draft.constants[name].reshape(seen).transpose(order).reshape(shape)
    tensor = replace(draft.types[name], shape=shape)
    return draft.add_value(f"{name}/ordered", tensor, np.ascontiguousarray(array))
