"""The input of the passes of PLACEMENT beside the graph: the target's costs, and the user's options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aot.passes.cost_model import CostModel


@dataclass(frozen=True, slots=True)
class PlacementGoal:
    costs: CostModel
    max_slowdown: float  # the share of their time that convolutions along sequences may lose to short rows
    is_streamed: bool  # the input comes row by row
