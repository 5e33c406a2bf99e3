"""A line through all pairs of bytes gives what the op's reference gives, or there is none."""

import numpy as np
import pytest
from op_case import int8

from aot.ir.types import TensorType
from aot.ops.activation import Activation
from aot.ops.binary import Add, Sub
from aot.ops.binary_rescale import add_parameters
from aot.ops.requant import quant_of
from codegen.isa.plain.scalar_math import SumLine, line_of_sum

BYTES = np.arange(-128, 128, dtype=np.int8)
A, B = BYTES.repeat(256), np.tile(BYTES, 256)


def pair_types(seed: int) -> tuple[TensorType, TensorType, TensorType]:
    rng = np.random.default_rng(seed)
    scales, zeros = np.exp(rng.uniform(-2, 2, 3)) * 0.05, rng.integers(-128, 128, 3)
    first, second, out = (
        int8(65536, scale=float(s), zero_point=int(z)) for s, z in zip(scales, zeros, strict=True)
    )
    return first, second, out


def line_between(types: tuple[TensorType, TensorType, TensorType], sign: str) -> SumLine | None:
    first, second, out = (quant_of(t).zero_point for t in types)
    return line_of_sum(sign, add_parameters(*types), (first, second), out, (-128, 127))


@pytest.mark.parametrize(("op", "sign"), [(Add, "+"), (Sub, "-")])
@pytest.mark.parametrize("seed", range(8))
def test_a_line_is_the_reference_for_every_pair(seed, op, sign):
    types = pair_types(seed)
    line = line_between(types, sign)
    assert line is not None
    on_line = A.astype(np.int64) * line.first + B.astype(np.int64) * line.second
    assert max(abs(on_line).max(), abs(on_line + line.start).max()) < 2**31
    (wanted,) = op(Activation.NONE).reference((A, B), types[:2], types[2:])
    assert np.array_equal(np.clip(on_line + line.start >> line.shift, -128, 127), wanted)


def test_a_result_of_much_finer_steps_has_no_line():
    types = (int8(4, scale=0.1), int8(4, scale=0.1, zero_point=1), int8(4, scale=1e-6, zero_point=2))
    assert line_between(types, "+") is None
