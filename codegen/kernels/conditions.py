"""Conditions on sites that many schedules share."""

from __future__ import annotations

from collections.abc import Callable

from aot.ir.types import DType
from aot.ops.conv2d_add import Conv2dAdd
from aot.ops.rounding import RequantRounding
from aot.target import Optimize
from codegen.kernels.kernel import Site
from codegen.kernels.requantised import Requantised
from codegen.kernels.schedule import Condition


def _are_bytes(site: Site) -> bool:
    return {site.input(0).dtype, site.input(1).dtype, site.outputs[0].dtype} == {DType.I8}


def _have_bytes_as_weights(site: Site) -> bool:
    types = {site.input(0).dtype, site.outputs[0].dtype}
    return site.input(1).dtype is DType.I8 and types <= {DType.I8, DType.I16}


def _adds_nothing(site: Site) -> bool:
    return not isinstance(site.node.op, Conv2dAdd)


def _are_integers(site: Site) -> bool:
    return site.input(0).dtype in (DType.I8, DType.I16)


def _is_rounded_twice(site: Site) -> bool:
    return getattr(site.node.op, "rounding", None) is RequantRounding.DOUBLE


def requantised_in_lanes(tail_of: Callable[[Site], Requantised]) -> Condition[Site]:
    """Returns the condition for 32-bit lanes; `tail_of` returns the tail of a site with 8-bit data."""
    return Condition("sums of 32 bits, rounded once or twice", lambda site: tail_of(site).requant.fits_lanes)


F32_INPUTS = Condition[Site]("floats", lambda site: site.input(0).dtype is DType.F32)
NOT_FOR_SIZE = Condition[Site]("--optimize other than size", lambda site: site.optimize is not Optimize.SIZE)
INTEGERS = Condition("integers", _are_integers)
BYTES = Condition("data, weights and results of 8 bits", _are_bytes)
BYTES_AS_WEIGHTS = Condition(
    "data and results of 8 or 16 bits, with weights of 8 bits", _have_bytes_as_weights
)
ADDS_NOTHING = Condition("results without a fused addition", _adds_nothing)
AS_TFLM_ROUNDS = Condition("results that are rounded twice, as by --rounding tflm", _is_rounded_twice)
