"""Library arguments of average and max pools."""

from __future__ import annotations

from aot.ops.activation import integer_clamp
from aot.ops.average_pool2d import AveragePool2d, Halves
from codegen.kernels.kernel import Site
from codegen.kernels.pools import pool_of
from codegen.kernels.strategy import Condition
from extensions.cmsis_nn.strategies import BYTES, Arguments, LibraryCall


def _goes_away_from_zero(site: Site) -> bool:
    op = pool_of(site)
    assert isinstance(op, AveragePool2d)
    return op.halves is Halves.AWAY


def pool_arguments(site: Site) -> Arguments:
    op, x, y = pool_of(site), site.input(0), site.outputs[0]
    least, most = integer_clamp(op.activation, y)
    return Arguments(
        (
            *(("x_rows", x.shape[1]), ("x_columns", x.shape[2]), ("depth", x.shape[3])),
            *(("y_rows", y.shape[1]), ("y_columns", y.shape[2])),
            *(("w_rows", op.size[0]), ("w_columns", op.size[1])),
            *(("stride_rows", op.stride[0]), ("stride_columns", op.stride[1])),
            *(("top", op.padding[0][0]), ("left", op.padding[1][0])),
            *(("y_least", least), ("y_most", most)),
        ),
        scratch_bytes=4 * x.shape[3],  # sums of an average pool
    )


HALVES = Condition("means with halves rounded away from zero (--rounding tflm)", _goes_away_from_zero)
AVERAGE_POOL = LibraryCall(
    "cmsis_nn_average_pool",
    "arm_avgpool_s8",
    1300,
    504,
    pool_arguments,
    (BYTES, HALVES),
)
MAX_POOL = LibraryCall("cmsis_nn_max_pool", "arm_max_pool_s8", 1400, 360, pool_arguments, (BYTES,))
