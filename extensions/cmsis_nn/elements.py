"""Library arguments of add, mul and softmax."""

from __future__ import annotations

from aot.ops.activation import integer_clamp
from aot.ops.binary import BinaryOp, Mul
from aot.ops.binary_rescale import Multiplier, add_parameters, mul_multiplier
from aot.ops.requant import quant_of
from aot.ops.rounding import RequantRounding
from aot.ops.softmax import Softmax, softmax_parameters
from codegen.kernels.kernel import Site
from codegen.kernels.strategy import Condition
from extensions.cmsis_nn.strategies import BYTES, Arguments, LibraryCall

_Numbers = tuple[tuple[str, int], ...]


def _are_computed(site: Site) -> bool:
    return not site.constants


def _are_alike(site: Site) -> bool:
    a, b = site.input(0), site.input(1)
    return a.shape == b.shape and a.dtype is b.dtype


def _has_scales(site: Site) -> bool:
    return site.outputs[0].quant is not None


TWO_TENSORS = (
    Condition("integers with a scale", _has_scales),
    Condition("two computed tensors, no constant", _are_computed),
    Condition("two tensors of one shape", _are_alike),
)


def _scaled(name: str, multiplier: Multiplier) -> _Numbers:
    mult, shift = multiplier
    return ((f"{name}_mult", mult), (f"{name}_shift", shift))


def _limits(site: Site) -> _Numbers:
    op = site.op_as(BinaryOp)
    least, most = integer_clamp(op.activation, site.outputs[0])
    return (("y_least", least), ("y_most", most))


def _with_zeros(site: Site, given: Arguments) -> Arguments:
    tensors = {"a_zero": site.input(0), "b_zero": site.input(1), "y_zero": site.outputs[0]}
    zeros = tuple((name, quant_of(tensor).zero_point) for name, tensor in tensors.items())
    return Arguments((*given.numbers, *zeros))


def add_numbers(site: Site) -> Arguments:
    """Returns the arguments of an addition whose zero points are 0."""
    a, b, y = site.input(0), site.input(1), site.outputs[0]
    p = add_parameters(a, b, y)
    return Arguments(
        (
            ("elements", y.elements),
            ("left_shift", p.left_shift),
            *_scaled("a", p.first),
            *_scaled("b", p.second),
            *_scaled("y", p.out),
            *_limits(site),
        )
    )


def _add(site: Site) -> Arguments:
    return _with_zeros(site, add_numbers(site))


def mul_numbers(site: Site) -> Arguments:
    """Returns the arguments of a multiplication whose zero points are 0."""
    op, y = site.op_as(Mul), site.outputs[0]
    multiplier = mul_multiplier(site.input(0), site.input(1), y, op.scales_in_single)
    return Arguments((("elements", y.elements), *_scaled("y", multiplier), *_limits(site)))


def _mul(site: Site) -> Arguments:
    return _with_zeros(site, mul_numbers(site))


def softmax_arguments(site: Site) -> Arguments:
    op, x = site.op_as(Softmax), site.input(0)
    p = softmax_parameters(x, op.beta)
    length = x.shape[-1]
    return Arguments(
        (
            ("rows", x.elements // length),
            ("length", length),
            ("mult", p.mult),
            ("left_shift", p.left_shift),
            ("least_difference", p.diff_min),
        )
    )


_PAIRS = (BYTES, *TWO_TENSORS)


def _is_rounded_twice(site: Site) -> bool:
    return getattr(site.node.op, "rounding", None) is RequantRounding.DOUBLE


TWICE = Condition("results rounded twice (--rounding tflm)", _is_rounded_twice)
ADD = LibraryCall(
    "cmsis_nn_add", "arm_elementwise_add_s8", 2300, 256, _add, (*_PAIRS, TWICE), names=("a", "b")
)
MUL = LibraryCall(
    "cmsis_nn_mul", "arm_elementwise_mul_s8", 1100, 152, _mul, (*_PAIRS, TWICE), names=("a", "b")
)
SOFTMAX = LibraryCall("cmsis_nn_softmax", "arm_softmax_s8", 4300, 272, softmax_arguments, (BYTES,))
