"""The rounding of each op by element type and mode, in one table: the references disagree."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType


class RequantRounding(Enum):
    """How a 32-bit accumulator times a float multiplier is rounded to an integer."""

    DOUBLE = "double"  # rounding high multiply to 31 bits, then a rounding shift: two roundings
    SINGLE = "single"  # one 64-bit product, one rounding shift
    EVEN = "even"  # as SINGLE, but exact halves go to the even integer
    ODD = "odd"  # the same before an odd zero point is added, so that the stored integer is even
    REDUCED = "reduced"  # a 64-bit accumulator, the multiplier truncated to 16 bits, one rounding shift


# Exact halves go to the integer with this remainder modulo 2.
PARITY: Mapping[RequantRounding, int] = MappingProxyType({RequantRounding.EVEN: 0, RequantRounding.ODD: 1})


class FixedRounding(Enum):
    """The rounding of results, if no attribute of the op chooses it."""

    MOVED = "moved"
    EXACT = "exact"
    REAL = "float"
    DOUBLE = "double"  # as RequantRounding.DOUBLE, in every mode
    DOUBLE_OF_SINGLE = "double, scales in single"
    FIXED_POINT = "fixed point"
    TABLE = "table"
    LINES = "lines"
    NEAREST = "nearest"
    NEAREST_EVEN = "nearest, even"
    DOWN = "down"
    DYNAMIC_RANGE = "dynamic range"
    TOWARDS_0 = "towards 0"


Rounding = RequantRounding | FixedRounding
Row = Mapping[str, Rounding]  # by mode

MEANINGS: Mapping[Rounding, str] = MappingProxyType(
    {
        FixedRounding.MOVED: "stored elements are copied unchanged",
        FixedRounding.EXACT: "integers, or a selection of inputs: no rounding; sums wrap around",
        FixedRounding.REAL: "computed in float32; the last digits depend on the order of sums",
        FixedRounding.DOUBLE: "a rounding high multiplication to 31 bits, then a rounding shift",
        RequantRounding.SINGLE: "one product of 64 bits, one rounding shift",
        RequantRounding.EVEN: "one product of 64 bits, rounded once, halves to even; "
        "add, mul and pools add the zero point first",
        RequantRounding.REDUCED: "sums of 64 bits, the multiplier truncated to 16 bits, one rounding shift",
        FixedRounding.DOUBLE_OF_SINGLE: "like double, with a multiplier computed in float32",
        FixedRounding.FIXED_POINT: "the reference's steps in fixed point, bit for bit",
        FixedRounding.TABLE: "one result per stored byte, computed in float32, halves away from 0",
        FixedRounding.LINES: "linear interpolation between entries of a table",
        FixedRounding.NEAREST: "the nearest integer, halves away from 0 (unsigned bytes: up)",
        FixedRounding.NEAREST_EVEN: "the nearest, halves to even",
        FixedRounding.DOWN: "rounded down by a shift",
        FixedRounding.DYNAMIC_RANGE: "the input quantized to 8 bits by its range at run time, exact sums, "
        "one float product",
        FixedRounding.TOWARDS_0: "the fraction is dropped",
    }
)

MODES = ("tflm", "litert-ref", "onnx")


def _always(rounding: Rounding) -> Row:
    return MappingProxyType(dict.fromkeys(MODES, rounding))


def _of(rounding: Rounding, *elements: str) -> Mapping[str, Row]:
    return dict.fromkeys(elements, _always(rounding))


def _table(*parts: Mapping[str, Row]) -> Mapping[str, Row]:
    return MappingProxyType({elements: row for part in parts for elements, row in part.items()})


# TFLite Micro rounds twice everywhere. LiteRT's reference kernels (BUILTIN_REF) do too, except in
# FULLY_CONNECTED with per-tensor weights, where a third of the outputs of a deep network change by 1 to 3.
# ONNX Runtime multiplies by a single-precision float; rounding once gives the same integers, unless the
# product is within a millionth of a tie. Ties are common only if a multiplier is a power of two. ONNX Runtime
# then computes the product exactly, and rounds ties to even.
_D, _S, _R = RequantRounding.DOUBLE, RequantRounding.SINGLE, RequantRounding.REDUCED
_TWICE_IN_TFLITE = MappingProxyType({"tflm": _D, "litert-ref": _D, "onnx": _S})
# LiteRT multiplies the scales of these in single precision, TFLite Micro in double. Multipliers that differ
# in their last bits change results close to a tie.
_SCALES_IN_SINGLE = MappingProxyType(
    {"tflm": FixedRounding.DOUBLE, "litert-ref": FixedRounding.DOUBLE_OF_SINGLE, "onnx": FixedRounding.DOUBLE}
)
POWERS = "i8, multiplied by powers of 2"
_EVEN_IN_ONNX: Row = MappingProxyType({"tflm": _D, "litert-ref": _D, "onnx": RequantRounding.EVEN})
_PRODUCTS_ONCE_IN_ONNX: Row = MappingProxyType({**_SCALES_IN_SINGLE, "onnx": RequantRounding.SINGLE})
# The same for convolutions whose tensors are unsigned in the file.
UNSIGNED = "i8, u8 in the file"
_UNSIGNED_PRODUCTS: Row = MappingProxyType(
    {
        "tflm": FixedRounding.DOUBLE,
        "litert-ref": FixedRounding.DOUBLE_OF_SINGLE,
        "onnx": RequantRounding.SINGLE,
    }
)
_NEAREST: Row = MappingProxyType(
    {"tflm": FixedRounding.NEAREST, "litert-ref": FixedRounding.NEAREST, "onnx": FixedRounding.NEAREST_EVEN}
)
# LiteRT quantizes floats to 8 bits if the weights have 8 bits; the others do not support such layers.
STEPS = "f32, weights i8"
_HYBRID: Row = MappingProxyType(
    {"tflm": FixedRounding.REAL, "litert-ref": FixedRounding.DYNAMIC_RANGE, "onnx": FixedRounding.REAL}
)
# Sums of i16 inputs have 64 bits, unless the bias has 32 bits or is declared to have: these have separate
# rows.
NARROW = "i16, bias i32"
HIDDEN_NARROW = "i16, hidden values i8"  # gates of an LSTM
# TFLite Micro reads each bias of a transposed convolution as 64 bits.
TRANSPOSED, TRANSPOSED_NARROW = "i16, transposed", "i16, transposed, bias i32"

_BOTH, _PLAIN = ("i8", "i16"), ("i32", "i64")
_INTEGERS = ("i8", "u8", "i16", "i32", "i64", "u32", "u64")
_ALL = (*_INTEGERS, "bool", "f32")
_REAL = _of(FixedRounding.REAL, "f32")
_MOVED = _of(FixedRounding.MOVED, *_ALL)
_EXACT = _of(FixedRounding.EXACT, *_ALL)
_TWICE = _table(_of(FixedRounding.DOUBLE, *_BOTH), _of(FixedRounding.EXACT, *_PLAIN), _REAL)
_PRODUCTS = _table(dict.fromkeys(_BOTH, _SCALES_IN_SINGLE), _of(FixedRounding.EXACT, *_PLAIN), _REAL)
_FIXED_16 = _table(_of(FixedRounding.FIXED_POINT, "i16", "i32"), _REAL)

# By op, then by elements (for select, of the values) and any other condition.
ROUNDING: Mapping[str, Mapping[str, Row]] = MappingProxyType(
    {
        "add": _table(_TWICE, {POWERS: _EVEN_IN_ONNX}),
        "arg_extreme": _of(FixedRounding.EXACT, *_INTEGERS, "f32"),
        "average_pool2d": _table(dict.fromkeys(_BOTH, _NEAREST), _REAL),
        "batch_matmul": _table({"i8": _TWICE_IN_TFLITE, POWERS: _EVEN_IN_ONNX}, _of(_R, "i16"), _REAL),
        "blobs": _REAL,
        "clamp": _table(_of(FixedRounding.DOUBLE, *_BOTH), _of(FixedRounding.EXACT, "f32")),
        "combine": _table(_of(FixedRounding.EXACT, *_INTEGERS, "bool"), _REAL),
        "compare": _table(_EXACT, _of(FixedRounding.DOUBLE, "i8, two scales")),
        "cached_attention": _of(FixedRounding.REAL, "f32", "f32, caches i8"),
        "concat": _MOVED,
        "contract": _table(_of(FixedRounding.EXACT, "i8", "u8", "i16", *_PLAIN), _REAL),
        "conv2d": _table(
            {"i8": _TWICE_IN_TFLITE, UNSIGNED: _UNSIGNED_PRODUCTS, POWERS: _EVEN_IN_ONNX},
            _of(_R, "i16", TRANSPOSED),
            _of(_D, NARROW),
            {TRANSPOSED_NARROW: MappingProxyType({"tflm": _R, "litert-ref": _D, "onnx": _R})},
            _REAL,
            {STEPS: _HYBRID},
        ),
        "conv2d+add": _table({"i8": _TWICE_IN_TFLITE, POWERS: _EVEN_IN_ONNX}),
        "convert": _table(_of(FixedRounding.EXACT, *_INTEGERS, "bool"), _of(FixedRounding.TOWARDS_0, "f32")),
        "cumulate": _table(_of(FixedRounding.DOUBLE, "i8"), _of(FixedRounding.EXACT, *_PLAIN), _REAL),
        "dense": _table(
            {
                "i8": MappingProxyType({"tflm": _D, "litert-ref": _S, "onnx": _S}),
                POWERS: MappingProxyType({"tflm": _D, "litert-ref": _S, "onnx": RequantRounding.EVEN}),
                "i16": MappingProxyType({"tflm": _R, "litert-ref": _S, "onnx": _S}),
                NARROW: MappingProxyType({"tflm": _D, "litert-ref": _S, "onnx": _S}),
            },
            _REAL,
            {STEPS: _HYBRID},
        ),
        "demosaic": _of(FixedRounding.NEAREST, "u8"),
        "depthwise_conv2d": _table(
            {"i8": _TWICE_IN_TFLITE, UNSIGNED: _UNSIGNED_PRODUCTS, POWERS: _EVEN_IN_ONNX},
            _of(_R, "i16"),
            _REAL,
            {STEPS: _HYBRID},
        ),
        "dequantize": _of(FixedRounding.REAL, "i8", "u8", "i16"),
        "detect": _REAL,
        "div": _table(_of(FixedRounding.DOUBLE, "i8"), _of(FixedRounding.TOWARDS_0, "i16", *_PLAIN), _REAL),
        "energy": _table(_of(FixedRounding.EXACT, "i16"), _REAL),
        "fft": _FIXED_16,
        "filter_bank": _table(_of(FixedRounding.EXACT, "u32"), _REAL),
        "fixed_log": _of(FixedRounding.FIXED_POINT, "u32"),
        "gain_control": _of(FixedRounding.FIXED_POINT, "u32"),
        "gather": _MOVED,
        "gather_nd": _MOVED,
        "hard_swish": _table(_of(FixedRounding.FIXED_POINT, "i8"), _REAL),
        "headroom": _of(FixedRounding.EXACT, "i16"),
        "hybrid_dense": _of(FixedRounding.DYNAMIC_RANGE, "f32"),
        "in_own_steps": _of(FixedRounding.NEAREST, "f32"),
        "l2_norm": _table(_of(FixedRounding.FIXED_POINT, "i8"), _REAL),
        "leaky_relu": _table(dict.fromkeys(_BOTH, _SCALES_IN_SINGLE), _REAL),
        "log_softmax": _table(_of(FixedRounding.FIXED_POINT, "i8"), _REAL),
        "logistic": _table(_of(FixedRounding.FIXED_POINT, "i8"), _of(FixedRounding.LINES, "i16"), _REAL),
        "lookup": _of(FixedRounding.TABLE, "i8", "u8"),
        "loop": _REAL,
        "max_pool2d": _of(FixedRounding.EXACT, *_BOTH, "f32"),
        "measured_range": _REAL,
        "mean": _table(dict.fromkeys(_BOTH, _TWICE_IN_TFLITE), {POWERS: _EVEN_IN_ONNX}, _REAL),
        "mul": _table(_PRODUCTS, dict.fromkeys(_BOTH, _PRODUCTS_ONCE_IN_ONNX), {POWERS: _EVEN_IN_ONNX}),
        "noise_estimate": _of(FixedRounding.DOWN, "u32"),
        "non_max_suppression": _REAL,
        "pad": _MOVED,
        "prelu": _PRODUCTS,
        "quantize": _table(
            {
                "f32": _NEAREST,
            },
            _of(FixedRounding.DOUBLE, "i8", "u8", "i16", "i32"),
        ),
        "real_samples": _FIXED_16,
        "real_spectrum": _FIXED_16,
        "rearrange": _MOVED,
        "recurrent": _table(_of(_D, HIDDEN_NARROW), _of(_R, "i16"), _REAL),
        "reduce": _table(
            _of(FixedRounding.EXACT, *_INTEGERS, "bool"),
            _of(FixedRounding.DOUBLE, "i8, sum", "i16, sum"),
            _REAL,
        ),
        "reshape": _MOVED,
        "resize": _table(_of(FixedRounding.NEAREST, *_BOTH), _REAL),
        "rms_norm": _REAL,
        "rotary": _REAL,
        "round_mantissa": _of(FixedRounding.NEAREST_EVEN, "f32"),
        "select": _MOVED,
        "shift_rows": _MOVED,
        "shift_up": _of(FixedRounding.EXACT, "i16"),
        "biquads": _REAL,
        "smooth": _table(_of(FixedRounding.DOWN, "u32"), _REAL),
        "softmax": _table(_of(FixedRounding.FIXED_POINT, "i8"), _of(FixedRounding.LINES, "i16"), _REAL),
        "squared_difference": _TWICE,
        "sub": _table(_TWICE, {POWERS: _EVEN_IN_ONNX}),
        "tanh": _table(_of(FixedRounding.FIXED_POINT, "i8"), _of(FixedRounding.LINES, "i16"), _REAL),
        "unary_math": _table(
            _of(FixedRounding.TABLE, "i8"),
            _of(FixedRounding.DOUBLE, "i8, abs or rsqrt", "i16, abs or rsqrt"),
            _of(FixedRounding.LINES, "i16, exp"),
            _of(FixedRounding.EXACT, "u8", *_PLAIN, "u32", "u64", "bool"),
            _REAL,
        ),
        "unpack_rgb565": _of(FixedRounding.EXACT, "u8"),
        "update_slice": _MOVED,
        "whole_root": _of(FixedRounding.NEAREST, "u64"),
        "window": _of(FixedRounding.DOWN, "i16"),
        "windows": _of(FixedRounding.MOVED, *_BOTH, "f32"),
        "without_noise": _of(FixedRounding.DOWN, "u32"),
        "write_rows": _MOVED,
    }
)


def scales_in_single(op_name: str, mode: str, elements: str = "i8") -> bool:
    """Returns whether the mode computes the op's multiplier from its scales in float32."""
    return ROUNDING[op_name][elements][mode] is FixedRounding.DOUBLE_OF_SINGLE


def quantises_on_the_way(op_name: str, mode: str) -> bool:
    """Returns whether the mode quantizes the op's float input to 8 bits if its weights have 8 bits."""
    return ROUNDING[op_name][STEPS][mode] is FixedRounding.DYNAMIC_RANGE


def rounding_of(op_name: str, mode: str, elements: str = "i8") -> RequantRounding:
    """Returns the rounding of an op that requantizes sums, in this mode."""
    rounding = ROUNDING[op_name][elements][mode]
    assert isinstance(rounding, RequantRounding)
    return rounding


def rounding_of_i16(op_name: str, mode: str, is_narrow: bool = False) -> RequantRounding:
    """Returns the rounding of an op on i16 inputs; narrow: with a bias of 32 bits."""
    return rounding_of(op_name, mode, NARROW if is_narrow and NARROW in ROUNDING[op_name] else "i16")
