"""The largest values of outputs with their indices, such as a classifier's top classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from aot.ir.tensor_spec import TensorSpec
from aot.ir.types import Array

MOST_SAMPLES = 10  # printed

Outputs = Sequence[tuple[Array, ...]]  # by sample


def top_facts(outputs: Outputs, specs: Sequence[TensorSpec], top: int) -> list[list[dict[str, Any]]]:
    """Returns the `top` largest values of each output by sample; indices refer to one sample's output."""
    return [[_largest(spec, array, top) for spec, array in zip(specs, each, strict=True)] for each in outputs]


def top_text(outputs: Outputs, specs: Sequence[TensorSpec], top: int) -> str:
    lines = []
    for number, each in enumerate(top_facts(outputs[:MOST_SAMPLES], specs, top)):
        lines += [f"sample {number}  {_line(found)}" for found in each]
    if len(outputs) > MOST_SAMPLES:
        lines.append(f"and {len(outputs) - MOST_SAMPLES} more samples")
    return "\n".join(lines)


def _largest(spec: TensorSpec, array: Array, top: int) -> dict[str, Any]:
    flat = array.reshape(-1)
    places = np.argsort(-flat.astype(np.float64), kind="stable")[:top]
    rows = [
        {"at": _place(int(place), array.shape), "value": flat[place].item(), **_real(spec, flat[place])}
        for place in places
    ]
    return {"output": spec.name, "largest": rows}


def _place(place: int, shape: tuple[int, ...]) -> int | list[int]:
    """Returns an index as a number if only one axis is longer than 1, else as a list."""
    if sum(size > 1 for size in shape) <= 1:
        return place
    return [int(each) for each in np.unravel_index(place, shape)]


def _real(spec: TensorSpec, stored: Any) -> dict[str, float]:
    quant = spec.type.quant
    if quant is None or quant.is_per_channel:
        return {}
    return {"real": quant.scale * (int(stored) - quant.zero_point)}


def _line(found: dict[str, Any]) -> str:
    said = "  ".join(f"[{_joined(row['at'])}] {_number(row)}" for row in found["largest"])
    return f'"{found["output"]}"  {said}'


def _joined(place: int | list[int]) -> str:
    return str(place) if isinstance(place, int) else ", ".join(map(str, place))


def _number(row: dict[str, Any]) -> str:
    return f"{row.get('real', row['value']):.4g}"
