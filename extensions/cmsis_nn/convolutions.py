"""Library arguments of convolutions, depthwise convolutions and fully connected layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from aot.ir.types import Array, DType
from aot.ops.conv2d import Conv2d
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.requant import quant_of
from aot.target import Feature
from codegen.kernels.conv_site import conv_op, conv_tail
from codegen.kernels.dense import dense_tail
from codegen.kernels.depthwise_conv2d import tail_of
from codegen.kernels.kernel import Site
from codegen.kernels.requantised import Requantised
from codegen.kernels.strategy import AS_TFLM_ROUNDS, Condition
from extensions.cmsis_nn.strategies import BYTES, Arguments, LibraryCall

_Tail = Callable[[Site], Requantised]
_VECTOR_BYTES = 16  # of Helium
_BLOCK_CHANNELS = 124  # of a depthwise convolution that the library computes at once with Helium


def has_byte_weights(site: Site) -> bool:
    return site.input(1).dtype is DType.I8


def _conditions(tail: _Tail) -> tuple[Condition[Site], ...]:
    return (
        BYTES,
        Condition("weights of bytes", has_byte_weights),
        AS_TFLM_ROUNDS,
        Condition("sums of 32 bits", lambda site: not tail(site).sums_wrap),
    )


def _tables(site: Site, w: Array, tail: Requantised, bias: Array) -> Mapping[str, Array]:
    return {
        "w": w.reshape(-1),
        "bias": bias.astype(np.int32),
        "mult": tail.scales["mult"],
        "shift": -tail.scales["right"].astype(np.int32),
    }


def _bias(site: Site, channels: int) -> Array:
    return site.constants.get(2, np.zeros(channels, np.int32))


def _stored(site: Site, tail: Requantised) -> tuple[tuple[str, int], ...]:
    return (
        ("x_zero", quant_of(site.input(0)).zero_point),
        ("y_zero", tail.requant.zero_point),
        ("y_least", tail.requant.low),
        ("y_most", tail.requant.high),
    )


def geometry(
    site: Site, op: Conv2d | DepthwiseConv2d, window: tuple[int, int]
) -> tuple[tuple[str, int], ...]:
    _, x_rows, x_columns, depth = site.input(0).shape
    _, y_rows, y_columns, channels = site.outputs[0].shape
    return (
        *(("x_rows", x_rows), ("x_columns", x_columns), ("depth", depth)),
        *(("y_rows", y_rows), ("y_columns", y_columns), ("channels", channels)),
        *(("w_rows", window[0]), ("w_columns", window[1])),
        *(("stride_rows", op.stride[0]), ("stride_columns", op.stride[1])),
        *(("dilation_rows", op.dilation[0]), ("dilation_columns", op.dilation[1])),
        *(("top", op.padding[0][0]), ("left", op.padding[1][0])),
    )


def _conv2d(site: Site) -> Arguments:
    op, tail, w = conv_op(site), conv_tail(site), site.constants[1]
    return Arguments(
        (*geometry(site, op, (w.shape[1], w.shape[2])), *_stored(site, tail)),
        _tables(site, w, tail, _bias(site, len(w))),
        _conv_scratch(site, w.shape[1] * w.shape[2], op),
    )


def _conv_scratch(site: Site, taps: int, op: Conv2d | DepthwiseConv2d) -> int:
    """Returns the largest scratch of the library's variants: four int8 columns, or two of 16 bits."""
    depth = site.input(0).shape[3]
    if site.target.has(Feature.MVE):
        is_single = taps == 1 and op.padding == ((0, 0), (0, 0))
        return 0 if is_single else 4 * _up(taps * depth, _VECTOR_BYTES)
    return 2 * 2 * _up(taps * depth, 4)


def _depthwise(site: Site) -> Arguments:
    op, tail, w = site.op_as(DepthwiseConv2d), tail_of(site), site.constants[1]
    return Arguments(
        (*geometry(site, op, (w.shape[0], w.shape[1])), *_stored(site, tail)),
        _tables(site, w, tail, _bias(site, w.shape[2])),
        _depthwise_scratch(site, op, w),
    )


def _depthwise_scratch(site: Site, op: DepthwiseConv2d, w: Array) -> int:
    depth, taps = site.input(0).shape[3], int(w.shape[0] * w.shape[1])
    if not site.target.has(Feature.MVE):
        return 2 * depth * taps  # its weights as 16 bits
    as_conv = _conv_scratch(site, taps, op) + int(w.size) if depth == 1 else 0  # with weights transposed
    return max(4 * _BLOCK_CHANNELS * taps, as_conv)


def _dense(site: Site) -> Arguments:
    tail, w = dense_tail(site), site.constants[1]
    # With Helium, the library expects sums to start with the input's zero point already subtracted.
    bias = tail.bias if site.target.has(Feature.MVE) else _bias(site, len(w))
    scales = {(int(m), int(s)) for m, s in zip(tail.scales["mult"], tail.scales["right"], strict=True)}
    return Arguments(
        (
            ("rows", site.outputs[0].elements // len(w)),
            ("depth", w.shape[1]),
            ("channels", len(w)),
            *_stored(site, tail),
            ("has_scales", int(len(scales) > 1)),
        ),
        _tables(site, w, tail, bias),
    )


def _up(number: int, step: int) -> int:
    return -(-number // step) * step


CONV2D = LibraryCall(
    "cmsis_nn_conv2d", "arm_convolve_wrapper_s8", 8100, 1024, _conv2d, _conditions(conv_tail)
)
DEPTHWISE = LibraryCall(
    "cmsis_nn_depthwise", "arm_depthwise_conv_wrapper_s8", 9900, 1200, _depthwise, _conditions(tail_of)
)
DENSE = LibraryCall(
    "cmsis_nn_dense", "arm_fully_connected_wrapper_s8", 8300, 592, _dense, _conditions(dense_tail)
)
