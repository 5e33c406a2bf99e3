"""The instruction sets that compute several elements at once."""

from __future__ import annotations

from collections.abc import Mapping

from codegen.loops.lanes import Lanes


def isas_with_lanes() -> Mapping[str, Lanes]:
    """The lanes of the instruction sets that have any, by name."""
    from codegen.isa.table import isas  # only who asks for lanes needs the instruction sets

    return {each.name: each.lanes for each in isas() if each.lanes is not None}
