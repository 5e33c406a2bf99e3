"""depthwise_conv2d with an FPU: tiles with as many sums as fit into its registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from codegen.formats import RowFormat
from codegen.isa.fpu.needs import NEEDS
from codegen.isa.fpu.strategies.tiles import depthwise_tile
from codegen.kernels.f32_sums import depthwise_rows, requests_padding
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.strategy import F32_INPUTS, NOT_FOR_SIZE, Strategy


def _lower(site: Site, inputs: Sequence[RowFormat], y: RowFormat) -> Kernel:
    rows, columns, _ = site.constants[1].shape
    kernel = depthwise_rows(site, inputs, y, ("c", "m", "column"))
    return replace(kernel, sketch=depthwise_tile(y.width, rows, columns))


STRATEGY = Strategy("fpu", requests_padding, _lower, NEEDS, (F32_INPUTS, NOT_FOR_SIZE))
