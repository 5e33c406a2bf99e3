"""Tiles of windows: convolutions, depthwise convolutions, fully connected layers, pools.

Each micro-operation is a tap of the window for 16 input and 16 result channels; the loops of an instruction
move it over the tile's rows and columns. A depthwise tap is a product with a diagonal tile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from extensions.gemm_npu.encoding import NpuCommand, micro
from extensions.gemm_npu.machine import LANES
from extensions.gemm_npu.program import (
    CONSTANTS,
    NpuTile,
    X,
    Y,
    alu,
    instruction,
    load,
    programmed,
)
from extensions.gemm_npu.tiles import (
    CountedPart,
    TilePlace,
    Tiling,
    counted_parts,
    fitting_tilings,
    parts,
    pixels_under,
    room,
    vectors_of_pixel,
)
from extensions.gemm_npu.timing import timed
from extensions.gemm_npu.window import SCALE_VECTORS, NpuWindow, WindowResult

_ONE = {"count": 1, "first": 0}  # the micro-operation that adds nothing to the bases
_LEAST_BYTE = -128


@dataclass(frozen=True)
class ConstantPlaces:
    """The byte offsets of a layer's constants: microcode, then scales, then weights."""

    scales: int
    weights: int


@dataclass(frozen=True)
class _Tile:
    """A tile, and the first entries of its virtual thread's part of each memory."""

    window: NpuWindow
    tiling: Tiling
    part: TilePlace
    images: int
    weights: int
    sums: int
    results: int

    @property
    def vectors(self) -> int:
        """Returns the number of vectors of the result."""
        return self.part.rows * self.part.columns * self.part.blocks

    @property
    def pixel(self) -> int:
        """Returns the number of vectors of an image pixel."""
        return vectors_of_pixel(self.window, self.part.blocks)

    @property
    def row(self) -> int:
        """Returns the number of vectors of an image row, in a full tile."""
        return self.window.reach(1, self.tiling.columns) * self.pixel

    @property
    def image_vectors(self) -> int:
        return pixels_under(self.window, self.part.rows, self.tiling.columns) * self.pixel

    @property
    def moved(self) -> dict[str, int]:
        """Returns the loops that move a window over the tile, from the first result of a block."""
        return {
            **{"outer": self.part.rows, "inner": self.part.columns},
            **{"to_outer": self.part.columns * self.part.blocks, "to_inner": self.part.blocks},
            "from_outer": self.window.stride[0] * self.row,
            "from_inner": self.window.stride[1] * self.pixel,
        }


def layout(window: NpuWindow) -> ConstantPlaces:
    scales = -(-4 * window.micro_operations // 64) * 64
    return ConstantPlaces(scales, scales + 64 * window.scale_vectors)


def micro_code(window: NpuWindow, tiling: Tiling) -> tuple[int, ...]:
    """Returns the micro-operations: one that adds nothing, then the taps."""
    pixel = vectors_of_pixel(window, tiling.blocks)
    row = window.reach(1, tiling.columns) * pixel
    taps = product(range(window.taps[0]), range(window.taps[1]), range(window.depth_blocks))
    words = [
        micro(
            0,
            r * window.dilation[0] * row + c * window.dilation[1] * pixel + b,
            number if window.has_weights else 0,
        )
        for number, (r, c, b) in enumerate(taps)
    ]
    return (micro(0, 0), *words)


@lru_cache(maxsize=512)
def best_tiling(window: NpuWindow, threads: int) -> Tiling:
    """Returns the tiling with the fewest cycles that fits the memories."""
    fitting = fitting_tilings(window, threads)
    return min(fitting, key=lambda each: timed(instructions(window, each, threads)).cycles)


def instructions(window: NpuWindow, tiling: Tiling, threads: int) -> tuple[NpuCommand, ...]:
    place, scales = layout(window), window.scale_vectors
    preparation = [load("MICROCODE", CONSTANTS, 0, **_entries(window.micro_operations, 4))]
    if scales:
        preparation.append(load("ACCUMULATOR", CONSTANTS, place.scales, **_entries(scales, 64)))
    tiles = [
        _tile(_placed(window, tiling, part, n % threads, threads))
        for n, part in enumerate(parts(window, tiling))
    ]
    return programmed(preparation, tiles, threads)


def _entries(count: int, size: int) -> dict[str, int]:
    return {"rows": 1, "columns": count, "column_stride": size, "bytes": size}


def _placed(window: NpuWindow, tiling: Tiling, part: TilePlace, thread: int, threads: int) -> _Tile:
    return _Tile(
        window,
        tiling,
        part,
        images=thread * room("INPUT", threads),
        weights=thread * room("WEIGHT", threads),
        sums=window.scale_vectors + thread * room("ACCUMULATOR", threads, window.scale_vectors),
        results=thread * room("OUTPUT", threads),
    )


def _tile(tile: _Tile) -> NpuTile:
    computing = _COMPUTING[tile.window.made](tile)
    clip = tile.window.clip
    bounds = {"value": clip.zero_point, "least": clip.least, "greatest": clip.greatest}
    along = _along(tile.results, tile.vectors, from_base=tile.sums, from_outer=1)
    return NpuTile(
        loads=(_tiles(tile), _image(tile)),
        before=computing.before,
        products=computing.products,
        scaled=(*computing.after, alu("CLIP", {**along, **bounds})),
        store=_store(tile),
    )


def _along(to: int, vectors: int, **fields: int) -> dict[str, int]:
    """Returns a loop over consecutive vectors."""
    return {**_ONE, "outer": vectors, "inner": 1, "to_base": to, "to_outer": 1, **fields}


@dataclass(frozen=True)
class _Computing:
    """The execute queue's instructions for a tile: before, while and after loaded data is read."""

    before: tuple[NpuCommand, ...]
    products: tuple[NpuCommand, ...]
    after: tuple[NpuCommand, ...]


def _of_products(tile: _Tile) -> _Computing:
    """Returns instructions for sums with start values and scales per channel."""
    part = tile.part
    channels = {**_ONE, "outer": part.rows * part.columns, "inner": part.blocks, "to_base": tile.sums}
    channels |= {"to_outer": part.blocks, "to_inner": 1, "from_inner": SCALE_VECTORS}
    first = SCALE_VECTORS * part.block
    return _Computing(
        (alu("MOVE", {**channels, "from_base": first}),),
        tuple(_sums(tile)),
        (alu("SCALE", {**channels, "from_base": first + 1}),),
    )


def _of_means(tile: _Tile) -> _Computing:
    """Returns instructions for sums with start values and scales per pixel count."""
    parts = [(_of_count(tile, each), each.count) for each in counted_parts(tile.window, tile.part)]
    firsts = [(loops, SCALE_VECTORS * tile.window.counts.index(count)) for loops, count in parts]
    return _Computing(
        tuple(alu("MOVE", {**loops, "from_base": first}) for loops, first in firsts),
        tuple(_sums(tile)),
        tuple(alu("SCALE", {**loops, "from_base": first + 1}) for loops, first in firsts),
    )


def _of_count(tile: _Tile, part: CountedPart) -> dict[str, int]:
    blocks, row = tile.part.blocks, tile.part.columns * tile.part.blocks
    return {
        **_ONE,
        **{"outer": part.rows, "inner": part.columns * blocks, "to_outer": row, "to_inner": 1},
        "to_base": tile.sums + part.row * row + part.column * blocks,
    }


def _of_largest(tile: _Tile) -> _Computing:
    """Returns instructions for a maximum: widens the image after the results, then compares each tap."""
    image = tile.sums + tile.vectors
    widened = _along(image, tile.image_vectors, from_base=tile.images, from_outer=1, tile_base=tile.weights)
    compared = {"first": 1, "count": tile.window.tiles_of_block, **tile.moved}
    return _Computing(
        (
            alu("MOVE", _along(tile.sums, tile.vectors, immediate=1, value=_LEAST_BYTE)),
            alu("MOVE", _along(image, tile.image_vectors, immediate=1)),
        ),
        (instruction("GEMM", widened),),
        tuple(
            alu("MAX", {**compared, "to_base": tile.sums + block, "from_base": image + block})
            for block in range(tile.part.blocks)
        ),
    )


_COMPUTING: Mapping[WindowResult, Callable[[_Tile], _Computing]] = {
    WindowResult.PRODUCTS: _of_products,
    WindowResult.MEAN: _of_means,
    WindowResult.LARGEST: _of_largest,
}


def _sums(tile: _Tile) -> Iterator[NpuCommand]:
    """Yields an instruction for each 16 channels of the result."""
    window = tile.window
    for block in range(tile.part.blocks):
        fields = {
            **{"first": 1, "count": window.tiles_of_block, **tile.moved, "to_base": tile.sums + block},
            "from_base": tile.images + (block if window.is_depthwise else 0),
            "tile_base": tile.weights + (block * window.tiles_of_block if window.has_weights else 0),
        }
        yield instruction("GEMM", fields)


def _tiles(tile: _Tile) -> NpuCommand:
    """Returns the load of the weights of a tile's channels."""
    window, part = tile.window, tile.part
    if window.has_weights:
        size = LANES if window.is_depthwise else LANES * LANES
        first, entries = part.block * window.tiles_of_block, part.blocks * window.tiles_of_block
    else:
        size, first, entries = LANES, 0, 1
    return load(
        "WEIGHT",
        CONSTANTS,
        layout(window).weights + first * size,
        index=tile.weights,
        diagonal=int(window.is_depthwise),
        **_entries(entries, size),
    )


def _image(tile: _Tile) -> NpuCommand:
    """Returns the load of the pixels under a tile. Padding columns fill rows up to a full tile's width."""
    window, part = tile.window, tile.part
    first = [
        begin * step - margin
        for begin, step, margin in zip((part.row, part.column), window.stride, window.before, strict=True)
    ]
    stop = (first[0] + window.reach(0, part.rows), first[1] + window.reach(1, tile.tiling.columns))
    inside = [
        (min(max(a, 0), size), max(min(b, size), 0))
        for a, b, size in zip(first, stop, window.x[:2], strict=True)
    ]
    (top, bottom), (left, right) = inside
    depth = window.x[2]
    channel = LANES * part.block if window.is_depthwise else 0
    count = min(LANES * part.blocks, depth - channel) if window.is_depthwise else depth
    return load(
        "INPUT",
        X,
        (top * window.x[1] + left) * depth + channel,
        index=tile.images,
        rows=max(bottom - top, 0),
        columns=max(right - left, 0),
        row_stride=window.x[1] * depth,
        column_stride=depth,
        bytes=count,
        top=top - first[0],
        bottom=stop[0] - max(bottom, top),
        left=left - first[1],
        right=stop[1] - max(right, left),
        fill=window.fill,
    )


def _store(tile: _Tile) -> NpuCommand:
    window, part, channels = tile.window, tile.part, tile.window.y[2]
    fields = {
        **{"base": Y, "index": tile.results, "rows": part.rows, "columns": part.columns},
        "offset": (part.row * window.y[1] + part.column) * channels + LANES * part.block,
        **{"row_stride": window.y[1] * channels, "column_stride": channels},
        "bytes": min(LANES * part.blocks, channels - LANES * part.block),
    }
    return instruction("STORE", fields)
