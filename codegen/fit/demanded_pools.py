"""Restricts the arena to memories that the kernels can access."""

from __future__ import annotations

from collections.abc import Sequence

from aot.errors import BoardError
from aot.plan.model import Pool
from aot.target import Target
from codegen.c.arenas import all_pools
from codegen.lower.memory_demands import stage_label
from codegen.lower.stages import LoweredStage


def pools_demanded(
    stages: Sequence[LoweredStage], target: Target, chosen: tuple[Pool, ...]
) -> tuple[Pool, ...]:
    """Returns the user's pools, or all RAM of the board; empty if any will do. Raises BoardError."""
    demanding = [stage for stage in stages if stage.kernel.demand.memories]
    offered = chosen or all_pools(target)
    names = {pool.name for pool in offered}
    for stage in demanding:
        if not stage.kernel.demand.memories & names:
            raise BoardError(
                f"{stage_label(stage)} needs memory in {' or '.join(sorted(stage.kernel.demand.memories))}, "
                f"{'which --pool does not list' if chosen else 'which this board does not have'}",
                hint=f"there is {', '.join(pool.name for pool in offered) or 'none: name a board'}",
            )
    return offered if demanding else ()
