"""The layers that the device computes, as windows and sums derived from the ops' attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from aot.ir.types import Array, DType
from aot.ops.activation import integer_clamp
from aot.ops.average_pool2d import AveragePool2d, Halves
from aot.ops.binary import Add
from aot.ops.binary_rescale import add_parameters
from aot.ops.conv2d import Conv2d
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.requant import quant_of
from codegen.kernels.conv_site import conv_op, conv_tail
from codegen.kernels.dense import dense_tail
from codegen.kernels.depthwise_conv2d import op_of as depthwise_op
from codegen.kernels.depthwise_conv2d import tail_of as depthwise_tail
from codegen.kernels.kernel import Site
from codegen.kernels.pools import pool_of
from codegen.kernels.requantised import Requantised
from extensions.gemm_npu.encoding import NpuCommand
from extensions.gemm_npu.packing import (
    diagonals_of,
    scales_of_pool,
    shared_weights,
    sum_constants,
    tiles_of,
    window_constants,
    zero_point_of_means,
)
from extensions.gemm_npu.sums import SumLayer
from extensions.gemm_npu.sums import instructions as sum_instructions
from extensions.gemm_npu.window import Clip, NpuWindow, WindowResult
from extensions.gemm_npu.window_tiles import best_tiling
from extensions.gemm_npu.window_tiles import instructions as window_instructions

Sizes = tuple[int, int, int]
_LEAST_BYTE = -128  # the padding of a max pool; no pixel is smaller


@dataclass(frozen=True)
class NpuLayer:
    """A layer for the device."""

    program: tuple[NpuCommand, ...]
    constants: Array


@dataclass(frozen=True)
class WindowLayer:
    """A window, with its packed weights and scales."""

    window: Callable[[Site], NpuWindow]
    weights: Callable[[Site], Array]
    scales: Callable[[Site], Mapping[str, Array]]

    def compiled(self, site: Site, threads: int) -> NpuLayer:
        window = self.window(site)
        tiling = best_tiling(window, threads)
        constants = window_constants(window, tiling, self.scales(site), self.weights(site))
        return NpuLayer(window_instructions(window, tiling, threads), constants)


def sum_of(site: Site, threads: int) -> NpuLayer:
    """Returns the layer that adds two tensors of one shape."""
    x1, x2, y = site.input(0), site.input(1), site.outputs[0]
    parameters = add_parameters(x1, x2, y)
    least, greatest = integer_clamp(site.op_as(Add).activation, y)
    zero_points = (quant_of(x1).zero_point, quant_of(x2).zero_point, quant_of(y).zero_point)
    total = SumLayer(y.elements, zero_points, parameters.left_shift, least, greatest)
    multipliers = (parameters.first, parameters.second, parameters.out)
    return NpuLayer(sum_instructions(total, threads), sum_constants(multipliers))


def _image(shape: tuple[int, ...]) -> Sizes:
    return shape[1], shape[2], shape[3]


def _clip(tail: Requantised) -> Clip:
    return Clip(tail.requant.zero_point, tail.requant.low, tail.requant.high)


def _of_conv(site: Site) -> NpuWindow:
    w = site.constants[1]
    return _of_taps(site, conv_op(site), (w.shape[1], w.shape[2]), _clip(conv_tail(site)))


def _of_depthwise(site: Site) -> NpuWindow:
    w = site.constants[1]
    window = _of_taps(site, depthwise_op(site), (w.shape[0], w.shape[1]), _clip(depthwise_tail(site)))
    return replace(window, is_depthwise=True)


def _of_taps(site: Site, op: Conv2d | DepthwiseConv2d, taps: tuple[int, int], clip: Clip) -> NpuWindow:
    return NpuWindow(
        _image(site.input(0).shape),
        _image(site.outputs[0].shape),
        taps,
        op.stride,
        op.dilation,
        (op.padding[0][0], op.padding[1][0]),
        quant_of(site.input(0)).zero_point,
        clip=clip,
    )


def _of_dense(site: Site) -> NpuWindow:
    (rows, depth), channels = site.input(0).shape, site.outputs[0].shape[1]
    return NpuWindow((1, rows, depth), (1, rows, channels), clip=_clip(dense_tail(site)))


def _of_pool(site: Site) -> NpuWindow:
    op, y = pool_of(site), site.outputs[0]
    least, greatest = integer_clamp(op.activation, y)
    is_mean = isinstance(op, AveragePool2d)
    return NpuWindow(
        _image(site.input(0).shape),
        _image(y.shape),
        op.size,
        op.stride,
        before=(op.padding[0][0], op.padding[1][0]),
        fill=0 if is_mean else _LEAST_BYTE,
        is_depthwise=True,
        made=WindowResult.MEAN if is_mean else WindowResult.LARGEST,
        clip=Clip(zero_point_of_means(halves_of(site)), least, greatest),
    )


def halves_of(site: Site) -> Halves:
    """Returns the rounding of a pool's means. A max pool does not round."""
    op = pool_of(site)
    return op.halves if isinstance(op, AveragePool2d) else Halves.AWAY


CONV = WindowLayer(_of_conv, lambda site: tiles_of(site.constants[1]), lambda site: conv_tail(site).tables)
DEPTHWISE = WindowLayer(
    _of_depthwise, lambda site: diagonals_of(site.constants[1]), lambda site: depthwise_tail(site).tables
)
DENSE = WindowLayer(
    _of_dense,
    lambda site: tiles_of(site.constants[1][:, None, None, :]),
    lambda site: dense_tail(site).tables,
)
POOL = WindowLayer(
    _of_pool,
    lambda site: shared_weights(_of_pool(site)),
    lambda site: scales_of_pool(_of_pool(site), halves_of(site)),
)


def is_bytes(site: Site) -> bool:
    types = (*site.inputs[:2], *site.outputs)
    return all(each is None or each.dtype is DType.I8 for each in types)
