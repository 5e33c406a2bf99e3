"""Instructions of one name are one function: what changes the C changes the name."""

from dataclasses import replace

import pytest
from instruction_tiles import REQUANT, TILES, variations

from codegen.isa.dsp.isa import with_dsp
from codegen.isa.dsp.paired_tile import paired_row
from codegen.isa.dsp.strategies.depthwise_blocks import block_row
from codegen.isa.plain.requantise import store_quantised
from codegen.isa.plain.scalar_math import PORTABLE
from codegen.loops.ir import Instruction


@pytest.mark.parametrize("name", TILES)
def test_what_changes_the_c_changes_the_name(name):
    tile, made = TILES[name]
    first: Instruction = made(tile)
    for field, other in variations(tile):
        second: Instruction = made(other)
        assert second.name != first.name or second.definition == first.definition, field


def test_results_with_another_zero_point_change_the_name():
    """Their store functions are the same; the term that is made of the shift is another one."""
    stores = [store_quantised(replace(REQUANT, zero_point=zero, math=with_dsp(PORTABLE))) for zero in (3, 5)]
    blocks, pairs = TILES["dsp blocks"][0], TILES["dsp paired rows"][0]
    assert len({block_row(blocks, storing).name for storing in stores}) == 2
    assert len({paired_row(replace(pairs, storing=storing), 4).name for storing in stores}) == 2
