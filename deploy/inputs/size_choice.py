"""Selects the size of a model that matches the inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from aot.errors import InputError
from aot.ir.tensor_spec import TensorSpec
from aot.ir.types import Array
from deploy.devices.firmware import Prepared


def at_size_of(prepared: Prepared, arrays: Mapping[str, Array] | None) -> Prepared:
    """Selects the model size for these inputs, which may be a series of samples.

    Returns `prepared` unchanged if the model has one size or no inputs are given. Raises InputError.
    """
    sizes = prepared.each_size
    return prepared if len(sizes) < 2 or arrays is None else _size_for(sizes, arrays)


def _size_for(sizes: Sequence[Prepared], arrays: Mapping[str, Array]) -> Prepared:
    for axes in (0, 1):  # without and with a sample axis
        for each in sizes:
            if all(
                _shape_of(arrays, spec, number)[axes:] == spec.shape
                for number, spec in enumerate(each.inputs or ())
            ):
                return each
    first = sizes[0].inputs or ()
    given = ", ".join(f"{spec.name} {list(_shape_of(arrays, spec, n))}" for n, spec in enumerate(first))
    known = "; ".join(
        ", ".join(f"{spec.name} {list(spec.shape)}" for spec in each.inputs or ()) for each in sizes
    )
    raise InputError(f"the model has no code for inputs of these sizes: {given}", hint=f"it has: {known}")


def _shape_of(arrays: Mapping[str, Array], spec: TensorSpec, number: int) -> tuple[int, ...]:
    for key in (spec.name, f"input_{number}"):
        if key in arrays:
            return tuple(np.shape(arrays[key]))
    return spec.shape  # missing inputs are reported when they are checked
