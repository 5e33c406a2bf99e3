"""The input of REGIONS passes besides the graph: a device's claims, and the regions it can run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aot.ir.graph import Graph, Node

if TYPE_CHECKING:
    from aot.passes.partition.claims import Claims

STAYS = "stays: "  # start of the reason of a node that no device runs


@dataclass(frozen=True)
class RegionGoal:
    device: str
    claim: Callable[[Graph], Claims]
    misfit: Callable[[Graph, Node], str]  # why the device cannot run this region; empty if it can
