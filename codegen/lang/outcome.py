"""Runs a proc in the loop interpreter, to compare two schedules of the same meaning."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from aot.ir.types import Array
from codegen.loops.interpret import run_proc
from codegen.loops.ir import Proc, Role
from codegen.loops.pack import Packing

_SEED = 20


def outcome(proc: Proc, packings: Mapping[str, Packing], meaning: Proc) -> dict[str, Array]:
    """Returns the computed outputs. All schedules of a meaning get the same input values."""
    random = np.random.default_rng(_SEED)
    given: dict[str, Array] = {}
    for param in meaning.params:
        size = (param.rows, param.elements)
        if param.dtype.is_integer:
            low, high = param.dtype.limits
            given[param.name] = random.integers(max(low, -128), min(high, 127) + 1, size, param.dtype.numpy)
        else:
            given[param.name] = random.integers(-8, 9, size).astype(param.dtype.numpy)
    arrays = {
        name: packings[name].apply(array)[None] if name in packings else array
        for name, array in given.items()
    }
    scratch = [param for param in proc.params if param.role is Role.SCRATCH]
    arrays |= {param.name: np.zeros((param.rows, param.elements), param.dtype.numpy) for param in scratch}
    run_proc(proc, {param.name: list(arrays[param.name]) for param in proc.params})
    return {p.name: arrays[p.name] for p in meaning.params if p.role in (Role.OUTPUT, Role.STATE)}
