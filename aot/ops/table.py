"""Replaces an element-wise 8-bit op by a table of 256 results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops.op import Op, Types, required


def table_of(
    op: Op, constants: Sequence[Array | None], inputs: Types, outputs: Sequence[TensorType]
) -> Array | None:
    """Returns the result for each stored value of the one non-constant operand, smallest value first.

    `constants` has None for operands that are not constant. Returns None if results depend on anything else.
    """
    operands = zip(constants, inputs, strict=True)
    unknown = [i for i, (c, t) in enumerate(operands) if c is None and t is not None]
    if len(unknown) != 1 or unknown[0] not in op.elementwise or len(outputs) != 1:
        return None
    (position,), (out,) = unknown, outputs
    x = required(inputs[position])
    repeated = [c for i, c in enumerate(constants) if i in op.elementwise and c is not None]
    bytes_ = (DType.I8, DType.U8)
    if x.dtype not in bytes_ or out.dtype not in bytes_ or any(np.unique(c).size != 1 for c in repeated):
        return None
    low, high = x.dtype.limits
    arrays, types = list(constants), list(inputs)
    for i, array in enumerate(constants):
        if i in op.elementwise and array is not None:
            arrays[i], types[i] = array.reshape(-1)[:1], replace(required(inputs[i]), shape=(1,))
    arrays[position] = np.arange(low, high + 1).astype(x.dtype.numpy)
    types[position] = replace(x, shape=(high - low + 1,))
    (results,) = op.reference(arrays, types, (replace(out, shape=(high - low + 1,)),))
    return results
