"""Tensors of a TFLite file: type, quantization and constant data, all checked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt
import tflite
from flatbuffers import number_types

from aot.errors import ModelError
from aot.frontend.builder import MAX_TENSOR_BYTES
from aot.frontend.tflite.flatbuffer import BLOCKWISE
from aot.ir.types import Array, DType, Quant, TensorType
from aot.wording import printable

DTYPES = {
    tflite.TensorType.INT4: DType.I8,  # constants only: unpacked when they are read
    tflite.TensorType.INT8: DType.I8,
    tflite.TensorType.UINT8: DType.U8,
    tflite.TensorType.INT16: DType.I16,
    tflite.TensorType.INT32: DType.I32,
    tflite.TensorType.INT64: DType.I64,
    tflite.TensorType.FLOAT16: DType.F32,  # constants only: widened when they are read
    tflite.TensorType.FLOAT32: DType.F32,
    tflite.TensorType.BOOL: DType.BOOL,
    tflite.TensorType.UINT32: DType.U32,
    tflite.TensorType.UINT64: DType.U64,
    tflite.TensorType.COMPLEX64: DType.F32,  # inside a model only: pairs of floats in one dimension more
}
_ONLY_CONSTANT = {
    tflite.TensorType.INT4: ("4-bit values", "convert with 8-bit activations"),
    tflite.TensorType.FLOAT16: ("16-bit floats", "convert with float32 activations"),
}
_DTYPE_NAMES = {number: name for name, number in vars(tflite.TensorType).items() if isinstance(number, int)}
_WITHOUT_SPARSITY = "convert the model without sparsity"


@dataclass(frozen=True)
class Tensor:
    """One tensor of the file: its type and, if it is a constant, its data."""

    name: str  # as in the file; may be empty or duplicate
    type: TensorType
    data: Array | None


def read_tensor(
    model: tflite.Model, part: tflite.SubGraph, index: int, file_name: str, becomes_constant: bool = False
) -> Tensor:
    """Returns the tensor; with `becomes_constant` an operator computes it when the file is read.

    Integers with a scale for each block of some elements become the floats that they stand for.
    """
    tensor = part.Tensors(index)
    name = tensor_name(tensor, index)
    reader = _TensorReader(f'tensor {index} "{name}" ({file_name})')
    tensor_type = reader.type(tensor)
    data = reader.data(model, tensor, tensor_type, becomes_constant)
    if data is None or not has_blocks(tensor):
        return Tensor(name, tensor_type, data)
    blocks = _blocks(tensor)
    if not 0 <= blocks.scales < part.TensorsLength() or has_blocks(part.Tensors(blocks.scales)):
        raise reader.fail(f"the scales of its blocks are in tensor {blocks.scales}, which has none")
    scales = read_tensor(model, part, blocks.scales, file_name).data
    return Tensor(name, TensorType(DType.F32, tensor_type.shape), reader.floats(data, blocks, scales))


@dataclass(frozen=True)
class _Blocks:
    """Blocks of elements along the last axis that have a scale each, in another tensor."""

    scales: int  # index of the tensor
    has_zero_points: bool
    elements: int


def has_blocks(tensor: tflite.Tensor) -> bool:
    """Returns whether elements have a scale for each block of some along the last axis."""
    quantization = tensor.Quantization()
    return quantization is not None and quantization.DetailsType() == BLOCKWISE


def _blocks(tensor: tflite.Tensor) -> _Blocks:
    """Returns the blocks of a quantization, which the package of the schema does not know."""
    table = tensor.Quantization().Details()

    def number(field: int, absent: int) -> int:
        at = table.Offset(4 + 2 * field) if table is not None else 0
        return int(table.Get(number_types.Int32Flags, table.Pos + at)) if at else absent

    return _Blocks(number(0, 0), number(1, -1) != -1, number(2, 0))


def tensor_name(tensor: tflite.Tensor, index: int) -> str:
    """Returns the name in the file, or one made from the index."""
    stored: bytes = tensor.Name() or b""
    return printable(stored.decode("utf-8", "replace")) or f"tensor_{index}"


@dataclass(frozen=True)
class _TensorReader:
    where: str

    def fail(self, what: str, hint: str = "") -> ModelError:
        return ModelError(what, self.where, hint or "the file looks corrupted: get or convert it again")

    def type(self, tensor: tflite.Tensor) -> TensorType:
        dtype = DTYPES.get(tensor.Type())
        if dtype is None:
            name = _DTYPE_NAMES.get(tensor.Type(), f"number {tensor.Type()}")
            known = ", ".join(sorted(_DTYPE_NAMES[number] for number in DTYPES))
            raise self.fail(f"element type {name} is not supported", f"supported: {known}")
        shape = self._shape(tensor, dtype)
        if tensor.Type() == tflite.TensorType.COMPLEX64:
            shape = (*shape, 2)
        return TensorType(dtype, shape, self._quant(tensor, dtype, shape))

    def _shape(self, tensor: tflite.Tensor, dtype: DType) -> tuple[int, ...]:
        shape = tuple(int(tensor.Shape(axis)) for axis in range(tensor.ShapeLength()))
        if len(shape) > 8:
            raise self.fail(f"it has {len(shape)} dimensions, the limit is 8")
        for dimension in shape:
            if dimension < 1:
                raise self.fail(
                    f"dimension {dimension} in shape {list(shape)}: each must be at least 1",
                    "models need static shapes: convert with a fixed input shape",
                )
        if prod(shape) * dtype.bytes > MAX_TENSOR_BYTES:
            raise self.fail(f"shape {list(shape)} takes more than {MAX_TENSOR_BYTES:,} bytes")
        return shape

    def _quant(self, tensor: tflite.Tensor, dtype: DType, shape: tuple[int, ...]) -> Quant | None:
        table = tensor.Quantization()
        if table is None or table.ScaleLength() == 0 or not dtype.is_integer:
            return None  # also for blocks, whose scales are elsewhere
        if table.DetailsType() != tflite.QuantizationDetails.NONE:
            raise self.fail("custom quantization details are not supported", "use per-axis quantization")
        scales = tuple(float(scale) for scale in table.ScaleAsNumpy())
        zero_points = self._zero_points(table, dtype, len(scales))
        bad = next((scale for scale in scales if not (math.isfinite(scale) and scale > 0)), None)
        if bad is not None:
            raise self.fail(f"quantization scale {bad}: each must be positive")
        if len(scales) == 1:
            return Quant(scales, zero_points)
        return Quant(scales, zero_points, self._axis(table.QuantizedDimension(), shape, len(scales)))

    def _zero_points(self, table: tflite.QuantizationParameters, dtype: DType, count: int) -> tuple[int, ...]:
        if table.ZeroPointLength() == 0:
            return (0,) * count
        zero_points = tuple(int(zero_point) for zero_point in table.ZeroPointAsNumpy())
        if len(zero_points) != count:
            raise self.fail(f"quantization has {count} scales but {len(zero_points)} zero points")
        smallest, largest = dtype.limits
        if not all(smallest <= zero_point <= largest for zero_point in zero_points):
            raise self.fail(f"a quantization zero point is outside {dtype.value}: {zero_points[:4]}")
        return zero_points

    def _axis(self, axis: int, shape: tuple[int, ...], count: int) -> int:
        if 0 <= axis < len(shape) and shape[axis] == count:
            return axis
        # Old converters gave a bias the axis of its weights; with one dimension the axis is clear.
        if shape == (count,):
            return 0
        raise self.fail(f"{count} quantization scales do not fit dimension {axis} of shape {list(shape)}")

    def data(
        self, model: tflite.Model, tensor: tflite.Tensor, tensor_type: TensorType, becomes_constant: bool
    ) -> Array | None:
        index = tensor.Buffer()
        if index >= model.BuffersLength():
            raise self.fail(f"it uses buffer {index}, the file has {model.BuffersLength()}")
        data = self._bytes(model, model.Buffers(index))
        # Buffer 0 means "no data" by convention, like an empty one.
        if index == 0 or data.size == 0:
            if tensor.Type() in _ONLY_CONSTANT and not becomes_constant:
                what, hint = _ONLY_CONSTANT[tensor.Type()]
                raise self.fail(f"{what} are supported for constants only", hint)
            if tensor.Sparsity() is not None:
                raise self.fail("sparse tensors are supported for constants only", _WITHOUT_SPARSITY)
            return None
        if tensor.Type() == tflite.TensorType.INT4:
            if tensor.Sparsity() is not None:
                raise self.fail("sparse tensors of 4 bits are not supported", _WITHOUT_SPARSITY)
            return self._unpacked(data, tensor_type)
        is_half = tensor.Type() == tflite.TensorType.FLOAT16
        stored = np.dtype(np.float16 if is_half else tensor_type.dtype.numpy).newbyteorder("<")
        raw = data.tobytes()
        if tensor.Sparsity() is not None:
            return self._dense(tensor.Sparsity(), raw, stored, tensor_type)
        if len(raw) != tensor_type.elements * stored.itemsize:
            raise self.fail(
                f"its buffer {index} has {len(raw):,} bytes, "
                f"shape {list(tensor_type.shape)} of {'f16' if is_half else tensor_type.dtype.value} "
                f"needs {tensor_type.elements * stored.itemsize:,}"
            )
        return np.frombuffer(raw, stored).astype(tensor_type.dtype.numpy).reshape(tensor_type.shape)

    def _bytes(self, model: tflite.Model, buffer: tflite.Buffer) -> npt.NDArray[np.uint8]:
        """Returns the bytes of a buffer: in the flatbuffer, or in the file after it."""
        first, size = buffer.Offset(), buffer.Size()
        if first <= 1 and size <= 1:
            inside = buffer.DataAsNumpy() if buffer.DataLength() else ()
            return np.asarray(inside, np.uint8)
        file = model._tab.Bytes
        if first + size > len(file):
            raise self.fail(f"its data ends at byte {first + size:,}, the file has {len(file):,}")
        return np.frombuffer(file, np.uint8, size, first)

    def floats(self, data: Array, blocks: _Blocks, scales: Array | None) -> Array:
        """Returns integers times the scales of their blocks."""
        if blocks.has_zero_points:
            raise self.fail("blocks with zero points are not supported", "quantize weights symmetrically")
        size, last = blocks.elements, data.shape[-1] if data.ndim else 0
        if size < 1 or last % size or scales is None or scales.size != data.size // size:
            count = 0 if scales is None else scales.size
            raise self.fail(f"{count} scales of blocks of {size} elements do not fit {list(data.shape)}")
        numbers = data.reshape(-1, size).astype(np.float32)
        numbers *= scales.astype(np.float32).reshape(-1, 1)
        return numbers.reshape(data.shape)

    def _dense(
        self,
        table: tflite.SparsityParameters,
        raw: bytes,
        stored: np.dtype[np.generic],
        tensor_type: TensorType,
    ) -> Array:
        from aot.frontend.tflite.tensors import SparsityError, dense, read_sparsity

        if len(raw) % stored.itemsize:
            raise self.fail(f"its buffer has {len(raw):,} bytes, elements have {stored.itemsize}")
        elements = np.frombuffer(raw, stored).astype(tensor_type.dtype.numpy)
        try:
            return dense(read_sparsity(table), elements, tensor_type.shape)
        except SparsityError as error:
            raise self.fail(f"its sparsity contradicts itself: {error}") from None

    def _unpacked(self, data: npt.NDArray[np.uint8], tensor_type: TensorType) -> Array:
        """Unpacks two values per byte, low half first."""
        count = tensor_type.elements
        if data.size != (count + 1) // 2:
            raise self.fail(
                f"its buffer has {data.size:,} bytes, {count:,} values of 4 bits need {(count + 1) // 2:,}"
            )
        halves = np.stack([data & 15, data >> 4], axis=1).reshape(-1)[:count]
        return ((halves.astype(np.int8) ^ 8) - 8).astype(np.int8).reshape(tensor_type.shape)


# Sparse constants of a TFLite file: expands the stored elements, level by level, to the dense tensor.
#
# Stored elements are traversed in an order of dimensions, the `levels`: those of the tensor, followed by
# those of blocks. A level has all its coordinates, or lists them for each entry of the previous level.


_Indices = npt.NDArray[np.int64]
_VECTORS = {
    tflite.SparseIndexVector.Int32Vector: tflite.Int32Vector,
    tflite.SparseIndexVector.Uint16Vector: tflite.Uint16Vector,
    tflite.SparseIndexVector.Uint8Vector: tflite.Uint8Vector,
}


class SparsityError(Exception):
    """Parts of the file's description contradict each other."""


@dataclass(frozen=True)
class WalkLevel:
    """A level of the traversal: all coordinates below `size`, or those listed."""

    size: int = 0
    segments: tuple[int, ...] = ()  # entry p of the previous level has indices[segments[p] : segments[p + 1]]
    indices: tuple[int, ...] = ()

    @property
    def is_sparse(self) -> bool:
        return bool(self.segments)


@dataclass(frozen=True)
class Sparsity:
    order: tuple[int, ...]  # by level: a dimension of the tensor, or of its blocks, numbered after those
    block_map: tuple[int, ...]  # the tensor's dimension that each block dimension divides
    levels: tuple[WalkLevel, ...]


def read_sparsity(table: tflite.SparsityParameters) -> Sparsity:
    """Returns the description in the file."""
    levels = [_level(table.DimMetadata(number)) for number in range(table.DimMetadataLength())]
    return Sparsity(
        tuple(int(table.TraversalOrder(i)) for i in range(table.TraversalOrderLength())),
        tuple(int(table.BlockMap(i)) for i in range(table.BlockMapLength())),
        tuple(levels),
    )


def _level(table: tflite.DimensionMetadata) -> WalkLevel:
    if table.Format() == tflite.DimensionType.DENSE:
        return WalkLevel(int(table.DenseSize()))
    segments = _numbers(table.ArraySegmentsType(), table.ArraySegments())
    if not segments:
        raise SparsityError("a sparse dimension has no segments")
    return WalkLevel(0, segments, _numbers(table.ArrayIndicesType(), table.ArrayIndices()))


def _numbers(kind: int, table: tflite.Int32Vector | None) -> tuple[int, ...]:
    if table is None or kind not in _VECTORS:
        return ()
    vector = _VECTORS[kind]()
    vector.Init(table.Bytes, table.Pos)
    return tuple(int(vector.Values(i)) for i in range(vector.ValuesLength()))


def dense(sparsity: Sparsity, stored: Array, shape: tuple[int, ...]) -> Array:
    """Returns the dense tensor, with 0 for missing elements. Raises SparsityError."""
    rank, blocks = len(shape), len(sparsity.block_map)
    if sorted(sparsity.order) != list(range(rank + blocks)) or len(sparsity.levels) != rank + blocks:
        raise SparsityError(
            f"{len(sparsity.levels)} levels do not fit {rank} dimensions and {blocks} of blocks"
        )
    if not all(0 <= dimension < rank for dimension in sparsity.block_map):
        raise SparsityError(f"blocks of dimensions {list(sparsity.block_map)} exceed rank {rank}")
    whole = np.zeros(shape, stored.dtype)
    walked = _walked(sparsity.levels, whole.size)
    if walked.shape[1] != stored.size:
        raise SparsityError(f"it stores {stored.size:,} elements, its levels have {walked.shape[1]:,}")
    at = _coordinates(sparsity, walked, rank)
    if any(((place < 0) | (place >= size)).any() for place, size in zip(at, shape, strict=True)):
        raise SparsityError(f"an element is outside shape {list(shape)}")
    whole[tuple(at)] = stored
    return whole


def _walked(levels: tuple[WalkLevel, ...], most: int) -> _Indices:
    """Returns the coordinates of each stored element, a row for each level."""
    places, coordinates = 1, np.zeros((0, 1), np.int64)
    for level in levels:
        counts = _listed(level, places) if level.is_sparse else np.full(places, max(level.size, 0))
        after = int(counts.sum())
        if after > most:
            raise SparsityError(f"a level has {after:,} positions, the tensor {most:,} elements")
        indices = np.array(level.indices) if level.is_sparse else np.tile(np.arange(level.size), places)
        coordinates = np.concatenate([np.repeat(coordinates, counts, axis=1), indices[None]])
        places = after
    return coordinates


def _listed(level: WalkLevel, places: int) -> _Indices:
    """Returns the number of coordinates listed for each entry of the previous level."""
    segments, count = np.array(level.segments), len(level.indices)
    counts = np.diff(segments)
    if len(counts) != places or segments[0] != 0 or segments[-1] != count or (counts < 0).any():
        raise SparsityError(f"{len(counts)} segments of {count} indices do not fit {places} positions")
    return counts


def _coordinates(sparsity: Sparsity, walked: _Indices, rank: int) -> list[_Indices]:
    """Returns the position of each element in the tensor: adds coordinates within blocks."""
    found = dict(zip(sparsity.order, walked, strict=True))
    sizes = dict(zip(sparsity.order, (level.size for level in sparsity.levels), strict=True))
    at = [found[dimension] for dimension in range(rank)]
    for number, dimension in enumerate(sparsity.block_map):
        at[dimension] = at[dimension] * sizes[rank + number] + found[rank + number]
    return at
