"""conv2d of floats on Helium: tiles of neighboring pixels, with a lane per output channel."""

from __future__ import annotations

from collections.abc import Sequence

from aot.ops.conv2d import Conv2d
from codegen.formats import RowFormat
from codegen.isa.helium.f32 import FLOAT_NEEDS, FloatResults
from codegen.isa.helium.f32_dots import FloatTile
from codegen.isa.helium.strategies.f32_dots import with_dots
from codegen.isa.helium.strategies.f32_tiles import FITS
from codegen.kernels.f32_sums import conv2d_rows, requests_padding
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.strategy import Condition, Strategy


def _op(site: Site) -> Conv2d:
    assert isinstance(site.node.op, Conv2d)
    return site.node.op


def _has_whole_rows(site: Site) -> bool:
    """Returns True if a row of a window is one piece of memory."""
    return _op(site).dilation[1] == 1 or site.constants[1].shape[2] == 1


def _lower(site: Site, inputs: Sequence[RowFormat], y: RowFormat) -> Kernel:
    (x,), op = inputs, _op(site)
    channels, rows, columns, depth = site.constants[1].shape
    length, has_start = columns * depth, site.constants.get(2) is not None
    x_step = op.stride[1] * x.x_step
    results = FloatResults(1, channels, y.x_step, y.c_step, has_start, op.activation)
    layer = FloatTile(results, rows, length, x_step)
    return with_dots(conv2d_rows(site, inputs, y), layer, y.width)


STRATEGY = Strategy(
    "helium-f32",
    requests_padding,
    _lower,
    FLOAT_NEEDS,
    (*FITS, Condition("windows with neighboring columns", _has_whole_rows)),
)
