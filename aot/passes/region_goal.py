"""The input of the passes of REGIONS beside the graph: what a device claims of it, and what it can run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aot.ir.graph import Graph, Node

if TYPE_CHECKING:
    from aot.passes.partition.claims import Claims

STAYS = "stays: "  # what the reason of a node begins with that no device runs


@dataclass(frozen=True)
class RegionGoal:
    device: str
    claim: Callable[[Graph], Claims]
    misfit: Callable[[Graph, Node], str]  # why the device cannot run this region; empty where it can
