"""Dense layers of floats on Helium: a lane per output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aot.ops.activation import Activation
from aot.ops.dense import Dense
from codegen.formats import RowFormat
from codegen.isa.helium.f32 import FLOAT_NEEDS, FloatResults
from codegen.isa.helium.f32_dots import FloatTile
from codegen.isa.helium.strategies.f32_dots import with_dots
from codegen.isa.helium.strategies.f32_tiles import FITS
from codegen.kernels.f32_sums import dense_rows, requests_vector
from codegen.kernels.four_bit_blocks import IN_FOUR_BITS, SAVES_FLASH
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.strategy import Condition, Strategy
from codegen.loops.ir import For


def _lower(site: Site, inputs: Sequence[RowFormat], y: RowFormat) -> Kernel:
    op, kernel = site.node.op, dense_rows(site, inputs, y)
    assert isinstance(op, Dense)
    (x,), (outputs, depth), has_start = inputs, site.constants[1].shape, site.constants.get(2) is not None
    results = FloatResults(1, outputs, 1, y.c_step, has_start, op.activation)
    if kernel.accumulation is None:
        return with_dots(kernel, FloatTile(results, 1, depth, 1), 1)
    sums = replace(results, y_channel_step=1, has_start=True, activation=Activation.NONE)
    row = replace(kernel.proc, body=(For("column", 1, kernel.proc.body),))
    return with_dots(replace(kernel, proc=row), FloatTile(sums, 1, x.width * x.channels, 1), 1)


_IN_WORDS = Condition[Site](
    "weights that are not stored in 4 bits",
    lambda site: not (SAVES_FLASH.holds(site) and IN_FOUR_BITS.holds(site)),
)
STRATEGY = Strategy(
    "helium-f32",
    requests_vector,
    _lower,
    FLOAT_NEEDS,
    (*FITS, _IN_WORDS),
    reads_image_rows=lambda site: True,
)
