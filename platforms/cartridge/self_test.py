"""Inputs for the self-test of a cartridge. solder_cartridge.c generates the same ones."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np

from aot.ir.tensor_spec import TensorSpec
from aot.ir.types import Array, DType

_SMALL = (DType.I8, DType.U8, DType.I16)


def self_test_inputs(specs: Sequence[TensorSpec]) -> tuple[Array, ...]:
    """Returns pseudo-random bytes for small integers, and zeros for floats and indices."""
    state, found = 1, []
    for spec in specs:
        data = bytearray()
        for _ in range(spec.bytes):
            state = (state * 1664525 + 1013904223) & 0xFFFF_FFFF
            data.append(state >> 24 if spec.type.dtype in _SMALL else 0)
        found.append(spec.from_bytes(bytes(data)))
    return tuple(found)


def outputs_crc(specs: Sequence[TensorSpec], outputs: Sequence[Array]) -> int:
    """Returns the checksum of the expected outputs, or 0 if floats may differ between cores."""
    if any(spec.type.dtype is DType.F32 for spec in specs):
        return 0
    return crc32(b"".join(np.ascontiguousarray(output).tobytes() for output in outputs))
