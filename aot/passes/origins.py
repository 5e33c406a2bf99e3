"""Finds the values that a value rearranges, and the source position of each of its elements."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from aot.ir.graph import Graph
from aot.ops.rearrange import Rearrange
from aot.ops.reshape import Reshape

Places = npt.NDArray[np.int64]


def origins(graph: Graph, value: str) -> Iterator[tuple[str, Places]]:
    """Yields the value itself, then its sources one by one, while they store the same integers."""
    places: Places = np.arange(graph.types[value].elements)
    yield value, places
    while (maker := graph.producers.get(value)) is not None and isinstance(maker.op, Rearrange | Reshape):
        if graph.types[maker.reads[0]].quant != graph.types[value].quant:
            return
        if isinstance(maker.op, Rearrange):
            places = maker.op.loops.indices()[places].astype(np.int64)
        value = maker.reads[0]
        yield value, places
