"""Finds convolutions that should not fuse the following add, with the reason."""

from __future__ import annotations

from collections.abc import Mapping

from aot.ops.binary import Add
from aot.ops.conv2d import Conv2d
from codegen.lower.sites import Sites


def slow_sums(sites: Sites) -> Mapping[str, str]:
    """Returns the reasons by layer, for convolutions whose results are added, from their strategies."""
    graph = sites.graph
    added = {
        maker.name: maker
        for node in graph.nodes
        if isinstance(node.op, Add)
        for maker in (graph.producers.get(value) for value in node.reads)
        if maker is not None and isinstance(maker.op, Conv2d)
    }
    found = {name: sites.chosen_for(sites.of(node)).slow_sum for name, node in added.items()}
    return {name: why for name, why in found.items() if why}
