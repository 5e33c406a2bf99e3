"""Instructions of one name are one function: what changes the C changes the name."""

from __future__ import annotations

import pytest
from instruction_tiles import TILES, variations

from codegen.loops.ir import Instruction


@pytest.mark.parametrize("name", TILES)
def test_what_changes_the_c_changes_the_name(name: str) -> None:
    tile, made = TILES[name]
    first: Instruction = made(tile)
    for field, other in variations(tile):
        second: Instruction = made(other)
        assert second.name != first.name or second.definition == first.definition, field
