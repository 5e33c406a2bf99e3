"""conv2d with an FPU: tiles with as many sums as fit into its registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aot.ops.conv2d import Conv2d
from codegen.formats import RowFormat
from codegen.isa.fpu.needs import NEEDS
from codegen.isa.fpu.strategies.tiles import dot_tile
from codegen.kernels.f32_sums import conv2d_rows, requests_padding
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.strategy import F32_INPUTS, NOT_FOR_SIZE, Strategy


def _lower(site: Site, inputs: Sequence[RowFormat], y: RowFormat) -> Kernel:
    channels, _, columns, depth = site.constants[1].shape
    kernel = conv2d_rows(site, inputs, y)
    op = site.op_as(Conv2d)
    tile = dot_tile(y.width, channels, depth if op.dilation[1] > 1 else columns * depth)
    return replace(kernel, sketch=tile, why=f"{tile['column']} pixels x {tile['o']} channels at a time")


STRATEGY = Strategy("fpu", requests_padding, _lower, NEEDS, (F32_INPUTS, NOT_FOR_SIZE))
