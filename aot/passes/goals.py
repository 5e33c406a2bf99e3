"""The inputs of passes besides the graph, by the table that a pass is in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aot.ir.graph import Graph, Node

if TYPE_CHECKING:
    from aot.passes.partition.claims import Claims


@dataclass(frozen=True, slots=True)
class CostModel:
    """Times are in multiplications of the core's convolutions, which dominate the run time."""

    # Time that a row loses, in pixels, by the number of pixels left over for its last tile.
    lost_pixels_by_remainder: tuple[float, ...]
    macs_per_copied_byte: float  # for gathering overlapping windows
    macs_per_call: int  # per call of a kernel that computes one row
    min_macs_per_row: int  # with fewer, starting a row of a matrix product costs noticeable time
    min_row_bytes: int  # shorter rows are not worth their pointer, unless a layer needs them

    def lost_pixels(self, pixels: int) -> float:
        """Returns the time that a row of `pixels` pixels loses, in pixels."""
        return self.lost_pixels_by_remainder[pixels % len(self.lost_pixels_by_remainder)]


@dataclass(frozen=True, slots=True)
class PlacementGoal:
    costs: CostModel
    max_slowdown: float  # fraction of their time that convolutions along sequences may lose to short rows
    is_streamed: bool  # the input arrives row by row


STAYS = "stays: "  # start of the reason of a node that no device runs


@dataclass(frozen=True)
class RegionGoal:
    device: str
    claim: Callable[[Graph], Claims]
    misfit: Callable[[Graph, Node], str]  # why the device cannot run this region; empty if it can


@dataclass(frozen=True, slots=True)
class VariantGoal:
    # A convolution that should not fuse the following addition -> why, after "since".
    slow_sums: Mapping[str, str]
