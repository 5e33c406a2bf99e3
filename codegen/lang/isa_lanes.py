"""The instruction sets with vector lanes."""

from __future__ import annotations

from collections.abc import Mapping

from codegen.loops.lanes import Lanes


def isas_with_lanes() -> Mapping[str, Lanes]:
    """Returns the lanes of each instruction set that has any, by name."""
    from codegen.isa.table import isas  # imported late: only users of lanes need the instruction sets

    return {each.name: each.lanes for each in isas() if each.lanes is not None}
