"""Tiles of the instruction sets with the instructions that they make, and others like them."""

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

from aot.ir.types import DType
from aot.ops.activation import Activation
from aot.ops.rounding import RequantRounding
from codegen.isa.dsp import depthwise as dsp_depthwise
from codegen.isa.dsp.channels import ChannelsTile, window
from codegen.isa.dsp.dot_tile import SmladDotTile
from codegen.isa.dsp.dots import dot
from codegen.isa.dsp.isa import with_dsp
from codegen.isa.dsp.paired_tile import paired_row
from codegen.isa.dsp.strategies.depthwise_blocks import BlockRow, block_row
from codegen.isa.helium import depthwise as mve_depthwise
from codegen.isa.helium import dots as mve
from codegen.isa.helium.dot_blocks import DotBlocks, dot_blocks
from codegen.isa.helium.dot_row import DotRow, dot_row
from codegen.isa.helium.dot_row_fours import DotRowFours, dot_row_fours
from codegen.isa.helium.f32 import FloatResults
from codegen.isa.helium.f32_sums import FloatDepthwise, FloatTile, float_dots, float_taps
from codegen.isa.helium.requantise import RequantTile, requantise_tile
from codegen.isa.helium.strategies.depthwise_channels import DepthwiseChannels, depthwise_channels
from codegen.isa.plain.fitted_scale import store_fitted
from codegen.isa.plain.requantise import Requant, store_quantised
from codegen.isa.plain.scalar_math import PORTABLE
from codegen.isa.rvv import row_block as rvv_depthwise
from codegen.isa.rvv.row_block import RowBlock, dot_channels
from codegen.kernels.paired_rows import ResultRow

REQUANT = Requant(-3, -128, 127, RequantRounding.DOUBLE, (1, 22), sum_fits_30_bits=True)
OF_A_MODEL = ("is_small", "most_unrolled")  # the same for all its layers, or for all of one unrolling
TILES: dict[str, tuple[Any, Any]] = {
    "dsp dot": (SmladDotTile(2, 2, 5, 8, DType.I8, True, 4), dot),
    "dsp window": (ChannelsTile(2, 4, 5, 5, 8, 8, DType.I16, True), window),
    "dsp depthwise": (
        dsp_depthwise.DepthwiseRow(9, 1, DType.I8, 4),
        lambda tile: dsp_depthwise.depthwise_row(
            tile, store_quantised(replace(REQUANT, math=with_dsp(PORTABLE)))
        ),
    ),
    "dsp blocks": (
        BlockRow(14, 5, 1, DType.I8, 4),
        lambda tile: block_row(tile, store_fitted(replace(REQUANT, math=with_dsp(PORTABLE)), 4)),
    ),
    "dsp paired rows": (
        ResultRow(2, 3, 1, 16, store_quantised(replace(REQUANT, math=with_dsp(PORTABLE))), DType.I8, 4, 1),
        lambda row: paired_row(row, 4),
    ),
    "mve dot": (mve.HeliumDotTile(2, 4, 3, 1, 40, 16, 24, True), mve.dot),
    "mve depthwise": (
        mve_depthwise.InterleavedRows(4, 3, 3, 1, 8, 10, 4, 1),
        lambda tile: mve_depthwise.depthwise_rows(tile, REQUANT),
    ),
    "mve channels": (
        DepthwiseChannels(16, 5, 5, 20, 8, 20, 20, 1),
        lambda tile: depthwise_channels(tile, REQUANT),
    ),
    "mve row": (
        DotRow(mve.HeliumDotTile(2, 4, 3, 1, 40, 16, 24, True), RequantTile(2, 4, 16, 1), 8, REQUANT),
        dot_row,
    ),
    "mve rows of fours": (
        DotRowFours(
            DotRow(mve.HeliumDotTile(2, 4, 1, 1, 40, 40, 0, True), RequantTile(2, 4, 16, 1), 8, REQUANT), 4
        ),
        dot_row_fours,
    ),
    "mve float dots": (
        FloatTile(FloatResults(3, 8, 16, 1, True, Activation.RELU), 3, 12, 8),
        float_dots,
    ),
    "mve float taps": (
        FloatDepthwise(FloatResults(5, 4, 16, 1, True, Activation.RELU), 3, 3, 16, 16),
        float_taps,
    ),
    "mve blocks": (DotBlocks(3, 5, REQUANT), dot_blocks),
    "rvv dots": (RowBlock(16, 3, 2, 24, 8, 16, 16, 1), lambda block: dot_channels(block, 9, REQUANT)),
    "rvv depthwise": (
        RowBlock(16, 3, 3, 24, 8, 16, 16, 1),
        lambda block: rvv_depthwise.depthwise_channels(block, REQUANT),
    ),
    "mve requantise": (RequantTile(2, 4, 16, 1), lambda tile: requantise_tile(tile, REQUANT)),
}


def variations(tile: Any) -> Iterator[tuple[str, Any]]:
    """The tile with one of its numbers different."""
    for field in fields(tile):
        value = getattr(tile, field.name)
        if type(value) is int and field.name not in OF_A_MODEL:
            for other in (value - 1, value + 1):
                if other >= 1:
                    yield field.name, replace(tile, **{field.name: other})
