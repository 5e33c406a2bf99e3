"""Element types, quantization and tensor types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from math import prod

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.generic]  # the elements of a value


class DType(Enum):
    """An element type; the value is its name in graph text."""

    I8 = "i8"
    U8 = "u8"
    I16 = "i16"
    I32 = "i32"
    I64 = "i64"
    F32 = "f32"
    BOOL = "bool"
    U32 = "u32"
    U64 = "u64"

    @property
    def bytes(self) -> int:
        return self.numpy.itemsize

    @property
    def numpy(self) -> np.dtype[np.generic]:
        return _NUMPY[self]

    @property
    def c_name(self) -> str:
        return _C_NAME[self]

    @property
    def is_integer(self) -> bool:
        return self not in (DType.F32, DType.BOOL)

    @property
    def limits(self) -> tuple[int, int]:
        """Returns the smallest and the largest value of an integer type."""
        return _LIMITS[self]


_NUMPY: dict[DType, np.dtype[np.generic]] = {
    DType.I8: np.dtype(np.int8),
    DType.U8: np.dtype(np.uint8),
    DType.I16: np.dtype(np.int16),
    DType.I32: np.dtype(np.int32),
    DType.I64: np.dtype(np.int64),
    DType.F32: np.dtype(np.float32),
    DType.BOOL: np.dtype(np.bool_),
    DType.U32: np.dtype(np.uint32),
    DType.U64: np.dtype(np.uint64),
}
_LIMITS: dict[DType, tuple[int, int]] = {
    kind: (int(info.min), int(info.max))
    for kind, info in ((kind, np.iinfo(numpy.name)) for kind, numpy in _NUMPY.items() if numpy.kind in "iu")
}
_C_NAME: dict[DType, str] = {
    DType.I8: "int8_t",
    DType.U8: "uint8_t",
    DType.I16: "int16_t",
    DType.I32: "int32_t",
    DType.I64: "int64_t",
    DType.F32: "float",
    DType.BOOL: "uint8_t",
    DType.U32: "uint32_t",
    DType.U64: "uint64_t",
}


@dataclass(frozen=True, slots=True)
class Quant:
    """The quantization `float = scale * (stored - zero_point)`: one pair, or one per index of `axis`."""

    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int | None = None

    @property
    def scale(self) -> float:
        """Returns the scale of a per-tensor quantization."""
        (scale,) = self.scales
        return scale

    @property
    def zero_point(self) -> int:
        """Returns the zero point of a per-tensor quantization."""
        (zero_point,) = self.zero_points
        return zero_point

    @property
    def is_per_channel(self) -> bool:
        return self.axis is not None


@dataclass(frozen=True, slots=True)
class TensorType:
    """Element type, static shape and, for quantized tensors, scales and zero points."""

    dtype: DType
    shape: tuple[int, ...]
    quant: Quant | None = None

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        return self.elements * self.dtype.bytes

    @property
    def rank(self) -> int:
        return len(self.shape)


# Strides of dense tensors, in elements.


def dense_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Returns the distance, in elements, of neighbors along each dimension of a dense tensor."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))
