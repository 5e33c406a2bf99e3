"""An array that is given or taken: its name, its type, and its bytes in a device's memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from aot.ir.graph import Graph
from aot.ir.types import Array, TensorType

_Bytes = bytes  # which in the class is the number of them


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """An input or output of a model."""

    name: str  # in the model file
    type: TensorType

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
        """The array that a device has in its memory: little endian."""
        array = np.frombuffer(data, self.dtype.newbyteorder("<"))
        return array.astype(self.dtype).reshape(self.shape)

    def to_bytes(self, array: Array) -> _Bytes:
        """The bytes that a device has in memory for this array: little endian."""
        return array.astype(self.dtype.newbyteorder("<")).tobytes()


def graph_specs(graph: Graph, names: Iterable[str]) -> tuple[TensorSpec, ...]:
    """The specs of some values of a graph, such as its inputs."""
    return tuple(TensorSpec(name, graph.types[name]) for name in names)
