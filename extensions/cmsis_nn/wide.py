"""Library arguments of 16-bit convolutions and fully connected layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from aot.ir.types import Array
from aot.ops.activation import integer_clamp
from aot.ops.conv2d import Conv2d
from aot.ops.dense import Dense
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.requant import conv_requant
from aot.ops.rounding import RequantRounding
from aot.target import Feature
from codegen.kernels.conv_site import conv_op
from codegen.kernels.kernel import Site
from codegen.kernels.strategy import Condition
from extensions.cmsis_nn.convolutions import geometry, has_byte_weights
from extensions.cmsis_nn.strategies import WIDE, Arguments, LibraryCall

_LARGEST = 1 << 15  # magnitude of the inputs' integers
_REST_BITS = 14  # of the library's first shift, to 32 bits
_LANES = 8  # 16-bit lanes of a Helium vector
_MOST_TAPS = 512  # of the library's faster depthwise convolution


def _is_reduced(site: Site) -> bool:
    return getattr(site.node.op, "rounding", None) is RequantRounding.REDUCED


def _of_channels(site: Site) -> Array:
    """Returns the weights, one row per output channel."""
    w = site.constants[1].astype(np.int64)
    if site.node.op.name == "depthwise_conv2d":
        return np.asarray(w.reshape(-1, w.shape[2]).T)
    return np.asarray(w.reshape(len(w), -1))


def _scales(site: Site) -> tuple[Array, Array]:
    op = site.node.op
    assert isinstance(op, Conv2d | DepthwiseConv2d | Dense)
    in_single = getattr(op, "scales_in_single", False)
    return conv_requant(site.input(0), site.input(1), site.outputs[0], len(_of_channels(site)), in_single)


def _bias(site: Site) -> Array:
    return site.constants.get(2, np.zeros(len(_of_channels(site)), np.int64)).astype(np.int64)


def _largest_sums(site: Site) -> Array:
    """Returns the largest possible sum of each channel, without the bias, which is added in 64 bits."""
    return np.asarray(np.abs(_of_channels(site)).sum(axis=1) * _LARGEST)


def _has_short_sums(site: Site) -> bool:
    return int(_largest_sums(site).max()) < 1 << 31


def _has_short_results(site: Site) -> bool:
    """Returns True if every result fits into 32 bits before clamping; the library truncates others."""
    mult, shift = _scales(site)
    sums = (_largest_sums(site) + np.abs(_bias(site))).astype(np.float64)
    floats = sums * (mult.astype(np.float64) / (1 << 16) + 1) * 2.0 ** (shift.astype(np.float64) - _REST_BITS)
    return float(floats.max()) < 1 << 31 and int(shift.max()) <= _REST_BITS


def _has_one_scale(site: Site) -> bool:
    mult, shift = _scales(site)
    return len(set(zip(mult.tolist(), shift.tolist(), strict=True))) == 1


def _reads_all_channels(site: Site) -> bool:
    return bool(site.constants[1].shape[-1] == site.input(0).shape[-1])


_FITS: tuple[Condition[Site], ...] = (
    WIDE,
    Condition("weights of bytes", has_byte_weights),
    Condition("multipliers of 16 bits, as TFLite's", _is_reduced),
    Condition("sums of 32 bits", _has_short_sums),
    Condition("results that fit 32 bits before they are clamped", _has_short_results),
)


def _limits(site: Site) -> tuple[tuple[str, int], ...]:
    least, most = integer_clamp(site.node.op.activation, site.outputs[0])  # type: ignore[attr-defined]
    return (("y_least", least), ("y_most", most))


def _tables(site: Site) -> Mapping[str, Array]:
    mult, shift = _scales(site)
    return {"w": site.constants[1].reshape(-1), "bias": _bias(site), "mult": mult, "shift": shift}


def _conv2d(site: Site) -> Arguments:
    w, op = site.constants[1], conv_op(site)
    column = int(w[0].size)
    words = 4 * -(-column // _LANES) * _LANES if site.target.has(Feature.MVE) else 2 * column
    return _windowed(site, op, (w.shape[1], w.shape[2]), 2 * words)


def _depthwise(site: Site) -> Arguments:
    w, op = site.constants[1], site.op_as(DepthwiseConv2d)
    taps, depth = int(w.shape[0] * w.shape[1]), site.input(0).shape[3]
    is_fast = w.shape[2] == depth and op.dilation == (1, 1) and taps < _MOST_TAPS
    columns = 4 if site.target.has(Feature.MVE) else 1
    scratch = 2 * columns * depth * taps + 2 * _LANES if is_fast else 0
    return _windowed(site, op, (w.shape[0], w.shape[1]), scratch)


def _windowed(
    site: Site, op: Conv2d | DepthwiseConv2d, window: tuple[int, int], scratch_bytes: int
) -> Arguments:
    zeros = (("x_zero", 0), ("y_zero", 0))  # 16-bit tensors have no zero points
    return Arguments((*geometry(site, op, window), *zeros, *_limits(site)), _tables(site), scratch_bytes)


def _dense(site: Site) -> Arguments:
    channels, depth = site.constants[1].shape
    mult, shift = _scales(site)
    sizes = (("rows", site.outputs[0].elements // channels), ("depth", depth), ("channels", channels))
    scale = (("mult", int(mult[0])), ("shift", int(shift[0])))
    tables = {"w": site.constants[1].reshape(-1), "bias": _bias(site)}
    return Arguments((*sizes, *scale, *_limits(site)), tables)


def _call(
    name: str,
    function: str,
    sizes: tuple[int, int],
    arguments: Callable[[Site], Arguments],
    *fits: Condition[Site],
) -> LibraryCall:
    code_bytes, stack_bytes = sizes
    return LibraryCall(name, function, code_bytes, stack_bytes, arguments, (*_FITS, *fits))


CONV2D = _call(
    "cmsis_nn_conv2d_wide",
    "arm_convolve_wrapper_s16",
    (4_600, 800),
    _conv2d,
    Condition("filters that read all channels", _reads_all_channels),
)
DEPTHWISE = _call("cmsis_nn_depthwise_wide", "arm_depthwise_conv_wrapper_s16", (5_000, 808), _depthwise)
DENSE = _call(
    "cmsis_nn_dense_wide",
    "arm_fully_connected_s16",
    (2_200, 416),
    _dense,
    Condition("a single scale for all weights", _has_one_scale),
)
