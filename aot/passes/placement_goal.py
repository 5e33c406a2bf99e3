"""The input of PLACEMENT passes besides the graph: the target's costs and the user's options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aot.passes.cost_model import CostModel


@dataclass(frozen=True, slots=True)
class PlacementGoal:
    costs: CostModel
    max_slowdown: float  # fraction of their time that convolutions along sequences may lose to short rows
    is_streamed: bool  # the input arrives row by row
