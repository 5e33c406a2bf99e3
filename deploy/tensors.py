"""What a model takes and gives, as its file, its archive or the firmware itself says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from aot.ir.graph import Array, Graph
from aot.ir.types import DType, TensorType
from platforms.rpc.messages import RemoteTensor

# enum solder_dtype of solder_model.h, which counts from 1
_DTYPES = (DType.I8, DType.U8, DType.I16, DType.I32, DType.I64, DType.F32, DType.BOOL, DType.U32, DType.U64)


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for an array: an input or output."""

    name: str
    type: DType
    shape: tuple[int, ...]
    scale: float | None = None  # real = scale * (stored - zero_point), where that is known
    zero_point: int = 0

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"

    @property
    def dtype(self) -> np.dtype[np.generic]:
        return self.type.numpy

    def from_bytes(self, data: bytes) -> Array:
        """The array as the device has it in memory: little endian."""
        array = np.frombuffer(data, self.dtype.newbyteorder("<"))
        return array.astype(self.dtype).reshape(self.shape)

    def to_bytes(self, array: Array) -> bytes:
        return array.astype(self.dtype.newbyteorder("<")).tobytes()


def graph_slots(graph: Graph, names: Iterable[str]) -> tuple[Slot, ...]:
    return tuple(slot_of(name, graph.types[name]) for name in names)


def slot_of(name: str, tensor: TensorType) -> Slot:
    quant = tensor.quant
    if quant is None or quant.is_per_channel:
        return Slot(name, tensor.dtype, tensor.shape)
    return Slot(name, tensor.dtype, tensor.shape, quant.scale, quant.zero_point)


def remote_slots(tensors: Iterable[RemoteTensor]) -> tuple[Slot, ...]:
    return tuple(Slot(tensor.name, _DTYPES[tensor.dtype - 1], tensor.shape) for tensor in tensors)
