"""Describes an input or output array: name, type and bytes in a device's memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from aot.ir.graph import Graph
from aot.ir.types import Array, TensorType
from aot.positions import index_limits, position_limits

_Bytes = bytes  # the class has a property of that name


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """An input or output of a model."""

    name: str  # from the model file
    type: TensorType
    # The least and the greatest value, if the values are positions in caches: a run refuses others.
    limits: tuple[int, int] | None = field(default=None, kw_only=True)
    # The least and the greatest value that every reader has an element for, if the values are indices.
    indices: tuple[int, int] | None = field(default=None, kw_only=True)

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    @property
    def dtype(self) -> np.dtype[np.generic]:
        return self.type.dtype.numpy

    @property
    def bytes(self) -> int:
        return self.type.bytes

    def from_bytes(self, data: _Bytes) -> Array:
        """Returns the array stored in these little-endian bytes."""
        array = np.frombuffer(data, self.dtype.newbyteorder("<"))
        return array.astype(self.dtype).reshape(self.shape)

    def to_bytes(self, array: Array) -> _Bytes:
        """Returns the array as the device stores it, little-endian."""
        return array.astype(self.dtype.newbyteorder("<")).tobytes()


def graph_specs(graph: Graph, names: Iterable[str]) -> tuple[TensorSpec, ...]:
    """Returns the specs of some values of a graph, such as its inputs."""
    limits, indices = position_limits(graph), index_limits(graph)
    return tuple(
        TensorSpec(name, graph.types[name], limits=limits.get(name), indices=indices.get(name))
        for name in names
    )
