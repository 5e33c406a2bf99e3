"""Which rounding each op's requantisation uses in each mode: one table, because the references disagree."""

from __future__ import annotations

from enum import Enum
from types import MappingProxyType


class RequantRounding(Enum):
    """How a 32-bit accumulator times a real multiplier becomes an integer again."""

    DOUBLE = "double"  # rounding high multiply to 31 bits, then a rounding shift: two roundings
    SINGLE = "single"  # one 64-bit product, one rounding shift
    REDUCED = "reduced"  # a 64-bit accumulator, the multiplier cut to 16 bits, one rounding shift


MODES = ("tflm", "litert-ref", "onnx")

# TFLite Micro rounds twice everywhere. LiteRT's reference kernels (BUILTIN_REF) do too, except in
# FULLY_CONNECTED with per-tensor weights, where a third of the outputs of a deep network move by 1 to 3.
# ONNX Runtime multiplies by a real number in single precision; rounding once gives its integers, unless the
# product lies within a millionth of the middle between two.
_D, _S = RequantRounding.DOUBLE, RequantRounding.SINGLE
_TWICE_IN_TFLITE = MappingProxyType({"tflm": _D, "litert-ref": _D, "onnx": _S})
ROUNDING = MappingProxyType(
    {
        "batch_matmul": _TWICE_IN_TFLITE,
        "conv2d": _TWICE_IN_TFLITE,
        "depthwise_conv2d": _TWICE_IN_TFLITE,
        "dense": MappingProxyType({"tflm": _D, "litert-ref": _S, "onnx": _S}),
    }
)


# LiteRT multiplies the scales of these in single precision, TFLite Micro in double: a multiplier that
# differs in its last bits moves a result that lies between two steps.
_SCALES_IN_SINGLE = MappingProxyType(
    {
        "mul": frozenset({"litert-ref"}),
        "leaky_relu": frozenset({"litert-ref"}),
        "prelu": frozenset({"litert-ref"}),
    }
)


def scales_in_single(op_name: str, mode: str) -> bool:
    """Whether the mode computes the op's multiplier from its scales in single precision."""
    return mode in _SCALES_IN_SINGLE.get(op_name, frozenset())


# Of i16 inputs, whose sums have 64 bits; LiteRT's dense layers round them as they round others.
_REDUCED = MappingProxyType(dict.fromkeys(MODES, RequantRounding.REDUCED))
_OF_I16 = MappingProxyType(
    {
        "batch_matmul": _REDUCED,
        "conv2d": _REDUCED,
        "depthwise_conv2d": _REDUCED,
        "dense": MappingProxyType({"tflm": RequantRounding.REDUCED, "litert-ref": _S, "onnx": _S}),
        "transpose_conv": _REDUCED,
    }
)


def rounding_of(op_name: str, mode: str) -> RequantRounding:
    """The rounding of an op that requantises, in one of the modes."""
    return ROUNDING[op_name][mode]


# The modes in which sums have 32 bits where the bias has, or is said to have: TFLite Micro takes each bias of
# a transposed convolution for one of 64 bits.
_MAY_BE_NARROW = MappingProxyType(
    {
        "conv2d": frozenset(MODES),
        "dense": frozenset(MODES),
        "transpose_conv": frozenset({"litert-ref"}),
    }
)


def rounding_of_i16(op_name: str, mode: str, is_narrow: bool = False) -> RequantRounding:
    """The rounding of an op on i16 inputs; narrow: with a bias of 32 bits."""
    rounding = _OF_I16[op_name][mode]
    narrow = is_narrow and mode in _MAY_BE_NARROW.get(op_name, ()) and rounding is RequantRounding.REDUCED
    return RequantRounding.DOUBLE if narrow else rounding
