"""softmax: maximum, sum of exponentials, quotients, pixel by pixel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from aot.ir.types import DType
from aot.ops.curves_16 import difference_multiplier
from aot.ops.softmax import Softmax, softmax_parameters
from codegen.formats import RowFormat
from codegen.isa.plain.curves_16 import SUM_BITS, exp_of_difference_16, reciprocal_of_sum, share_of_sum
from codegen.isa.plain.softmax import (
    EXP_FOR_SUM_BY,
    RECIPROCAL,
    RECIPROCAL_BITS,
    exp_for_sum,
    share,
    share_by,
)
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.pools import SOFTMAX
from codegen.kernels.row_nests import K, requests_anything, vector_kernel
from codegen.kernels.strategy import OpKernel, Strategy, by_dtype
from codegen.loops.affine import Affine
from codegen.loops.ir import (
    Accumulate,
    Apply,
    Buffer,
    BufferPlace,
    For,
    Load,
    Role,
    ScalarFunction,
    Stmt,
    Store,
    at,
    let,
    load,
    local,
    maximum,
)

_GIVEN = ("mult", "shift", "least")


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    channels, pieces = inputs[0].channels, _pieces(site)
    given = tuple(local(name, DType.I32) for name in _GIVEN[: len(pieces.numbers)])
    numbers = tuple(map(load, given))
    table = Buffer("numbers", DType.I32, len(given), Role.CONSTANT)
    taken = [s for n, each in enumerate(given) for s in let(each, load(table, n))]
    most, total, scale, bits = (local(name, DType.I32) for name in ("most", "sum", "scale", "bits"))

    def body(element: Callable[..., Load], place: Callable[[Affine], BufferPlace]) -> Sequence[Stmt]:
        below = element(K) - load(most)
        shared = (below, load(scale), load(bits))
        return (
            *taken,
            *let(most, element(0)),
            For("k", channels, (Store(at(most), maximum(load(most), element(K))),)),
            *let(total, 0),
            For("k", channels, (Accumulate(at(total), Apply(pieces.exp, (below, *numbers))),)),
            *let(scale, Apply(pieces.reciprocal, (load(total),))),
            *let(bits, Apply(pieces.bits, (load(total),))),
            For("k", channels, (Store(place(K), Apply(pieces.share, (*shared, *numbers))),)),
        )

    tables = {table: np.array(pieces.numbers, np.int32)} if given else {}
    return vector_kernel(site, inputs[0], output, body, "a softmax", tables)


@dataclass(frozen=True)
class _Pieces:
    exp: ScalarFunction  # of x - max, as a term of the sum
    reciprocal: ScalarFunction  # of the sum
    bits: ScalarFunction  # of the sum: the shift of the product of both
    share: ScalarFunction  # of x - max, the reciprocal and the bits: the stored result
    numbers: tuple[int, ...] = ()  # their last arguments, if the input's scale is not in the code


def _pieces(site: Site) -> _Pieces:
    op, x = site.op_as(Softmax), site.input(0)
    if x.dtype is DType.I16:
        exp = exp_of_difference_16(difference_multiplier(x, op.beta))
        return _Pieces(exp, reciprocal_of_sum(), SUM_BITS, share_of_sum(exp))
    parameters = softmax_parameters(x, op.beta)
    if site.for_any_weights:
        numbers = (parameters.mult, parameters.left_shift, parameters.diff_min)
        share_of = share_by(site.outputs[0].dtype)
        return _Pieces(EXP_FOR_SUM_BY, RECIPROCAL, RECIPROCAL_BITS, share_of, numbers)
    return _Pieces(
        exp_for_sum(parameters), RECIPROCAL, RECIPROCAL_BITS, share(parameters, site.outputs[0].dtype)
    )


_INTEGERS = OpKernel((Strategy("plain", requests_anything, _lower),), frozenset({DType.I8, DType.I16}))
KERNEL = by_dtype(_INTEGERS, SOFTMAX)
