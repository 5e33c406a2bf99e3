"""Sparse constants of a TFLite file: expands the stored elements, level by level, to the dense tensor.

Stored elements are traversed in an order of dimensions, the `levels`: those of the tensor, followed by those
of blocks. A level has all its coordinates, or lists them for each entry of the previous level.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import tflite

from aot.ir.types import Array

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
