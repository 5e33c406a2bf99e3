"""Windows over an image as tiles: convolutions, depthwise ones, fully connected layers, average pools.

Each micro-operation is a tap of the window for 16 channels of the input and of the result; the loops of an
instruction move it over the tile's rows and columns. A depthwise tap is a product with a diagonal tile.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from codegen.accelerators.gemm_npu.encoding import NpuCommand, micro
from codegen.accelerators.gemm_npu.machine import LANES, MEMORIES
from codegen.accelerators.gemm_npu.program import CONSTANTS, NpuTile, X, Y, instruction, load, programmed
from codegen.accelerators.gemm_npu.timing import timed

Pair = tuple[int, int]
SCALE_VECTORS = 3  # of each 16 channels: where sums begin, multipliers, shifts
_ALU_CODE = 0  # the micro-operation that adds nothing to the bases
_MOST_PADDING = 255
_MOVE, _ADD, _SHIFT_LEFT, _SCALE, _CLIP = range(5)


@dataclass(frozen=True, slots=True)
class Clip:
    """The zero point that is added to results, and the least and the greatest one."""

    zero_point: int = 0
    least: int = -128
    greatest: int = 127


@dataclass(frozen=True)
class NpuWindow:
    """All that decides a layer's instructions; weights are elsewhere."""

    x: tuple[int, int, int]  # rows, columns, channels
    y: tuple[int, int, int]
    taps: Pair = (1, 1)
    stride: Pair = (1, 1)
    dilation: Pair = (1, 1)
    before: Pair = (0, 0)  # rows and columns of padding
    fill: int = 0  # what padding holds
    is_depthwise: bool = False
    has_weights: bool = True  # else each tap counts once
    clip: Clip = Clip()

    @property
    def blocks(self) -> int:
        """Vectors of the result's channels."""
        return blocks(self.y[2])

    @property
    def depth_blocks(self) -> int:
        """Vectors of the input's channels that one vector of the result is made of."""
        return 1 if self.is_depthwise else blocks(self.x[2])

    @property
    def tiles_of_block(self) -> int:
        """Tiles of weights for 16 channels of the result."""
        return self.taps[0] * self.taps[1] * self.depth_blocks

    @property
    def micro_operations(self) -> int:
        return 1 + self.tiles_of_block

    @property
    def scale_vectors(self) -> int:
        return SCALE_VECTORS * self.blocks

    def reach(self, axis: int, results: int) -> int:
        """The rows (0) or columns (1) of the image under that many of the result."""
        return (results - 1) * self.stride[axis] + (self.taps[axis] - 1) * self.dilation[axis] + 1


@dataclass(frozen=True)
class Tiling:
    """The size of a tile, and what changes faster from one to the next."""

    rows: int
    columns: int
    blocks: int  # of channels
    keeps_weights: bool  # all pixels before the next channels


@dataclass(frozen=True)
class ConstantPlaces:
    """The offsets of a layer's constants, in bytes: micro-code, then scales, then weights."""

    scales: int
    weights: int


def blocks(channels: int) -> int:
    return -(-channels // LANES)


def layout(window: NpuWindow) -> ConstantPlaces:
    scales = -(-4 * window.micro_operations // 64) * 64
    return ConstantPlaces(scales, scales + 64 * window.scale_vectors)


def room(memory: str, threads: int, taken: int = 0) -> int:
    """The entries of a memory that each thread has."""
    return (MEMORIES[memory].entries - taken) // threads


def misfit(window: NpuWindow, threads: int) -> str:
    """Says why not even a single pixel fits the memories; empty where it does."""
    if max(window.x[2], window.y[2]) * max(window.stride[1], 1) >= 1 << 16:
        return f"{max(window.x[2], window.y[2]):,} channels, more than an instruction steps over"
    smallest = Tiling(1, 1, 1, False)
    needs = _needs(window, smallest)
    rooms = _rooms(window, threads)
    return next(
        (
            f"a tile of one pixel takes {needs[name]:,} entries of {name}, "
            f"which has {max(rooms[name], 0):,} for each of {threads} virtual threads"
            for name in needs
            if needs[name] > rooms[name]
        ),
        "",
    )


def micro_code(window: NpuWindow, tiling: Tiling) -> tuple[int, ...]:
    """The words of the micro-operations: the ALU's, then the taps."""
    pixel = _vectors_of_pixel(window, tiling.blocks)
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
    """The tiling that takes fewest cycles of those that fit."""
    fitting = [each for each in _tilings(window) if _fits(window, each, threads)]
    return min(fitting, key=lambda each: timed(instructions(window, each, threads)).cycles)


def instructions(window: NpuWindow, tiling: Tiling, threads: int) -> tuple[NpuCommand, ...]:
    place = layout(window)
    preparation = (
        load("MICROCODE", CONSTANTS, 0, **_entries(window.micro_operations, 4)),
        load("ACCUMULATOR", CONSTANTS, place.scales, **_entries(window.scale_vectors, 64)),
    )
    parts = list(_parts(window, tiling))
    tiles = [_tile(window, tiling, part, n % threads, threads) for n, part in enumerate(parts)]
    return programmed(preparation, tiles, threads)


def _entries(count: int, size: int) -> dict[str, int]:
    return {"rows": 1, "columns": count, "column_stride": size, "bytes": size}


def _vectors_of_pixel(window: NpuWindow, tile_blocks: int) -> int:
    return tile_blocks if window.is_depthwise else window.depth_blocks


def _needs(window: NpuWindow, tiling: Tiling) -> dict[str, int]:
    results = tiling.rows * tiling.columns * tiling.blocks
    pixels = window.reach(0, tiling.rows) * window.reach(1, tiling.columns)
    return {
        "INPUT": pixels * _vectors_of_pixel(window, tiling.blocks),
        "WEIGHT": tiling.blocks * window.tiles_of_block if window.has_weights else 1,
        "ACCUMULATOR": results,
        "OUTPUT": results,
        "MICROCODE": window.micro_operations,
    }


def _rooms(window: NpuWindow, threads: int) -> dict[str, int]:
    rooms = {name: room(name, threads) for name in MEMORIES}
    rooms["ACCUMULATOR"] = room("ACCUMULATOR", threads, window.scale_vectors)
    rooms["MICROCODE"] = MEMORIES["MICROCODE"].entries  # shared by all
    return rooms


def _fits(window: NpuWindow, tiling: Tiling, threads: int) -> bool:
    rooms = _rooms(window, threads)
    return all(need <= rooms[name] for name, need in _needs(window, tiling).items()) and (
        window.reach(1, tiling.columns) - 1 <= _MOST_PADDING or tiling.columns == window.y[1]
    )


def _tilings(window: NpuWindow) -> Iterator[Tiling]:
    rows, columns, _ = window.y
    for height, width, depth in product(_parts_of(rows), _parts_of(columns), _parts_of(window.blocks)):
        if window.is_depthwise and window.blocks % depth:
            continue  # the last tile's pixels would be fewer vectors, and the micro-code another
        yield Tiling(height, width, depth, True)
        if depth < window.blocks and (height < rows or width < columns):
            yield Tiling(height, width, depth, False)


def _parts_of(size: int) -> list[int]:
    """The size, divided by ever more, without two that need as many parts."""
    counts = sorted(
        {min(1 << n, size) for n in range(size.bit_length() + 1)} | {n for n in (3, 5, 6, 7) if n < size}
    )
    return list(dict.fromkeys(-(-size // count) for count in counts))


@dataclass(frozen=True)
class _TilePlace:
    """A tile's place in the result: first row, column and block, and how many of each."""

    row: int
    column: int
    block: int
    rows: int
    columns: int
    blocks: int


def _parts(window: NpuWindow, tiling: Tiling) -> Iterator[_TilePlace]:
    pixels = list(product(range(0, window.y[0], tiling.rows), range(0, window.y[1], tiling.columns)))
    channels = range(0, window.blocks, tiling.blocks)
    if tiling.keeps_weights:
        order = [(pixel, block) for block in channels for pixel in pixels]
    else:
        order = [(pixel, block) for pixel in pixels for block in channels]
    for (row, column), block in order:
        yield _TilePlace(
            row,
            column,
            block,
            min(tiling.rows, window.y[0] - row),
            min(tiling.columns, window.y[1] - column),
            min(tiling.blocks, window.blocks - block),
        )


def _tile(window: NpuWindow, tiling: Tiling, part: _TilePlace, thread: int, threads: int) -> NpuTile:
    sums = window.scale_vectors + thread * room("ACCUMULATOR", threads, window.scale_vectors)
    results = thread * room("OUTPUT", threads)
    pixels, count = part.rows * part.columns, part.rows * part.columns * part.blocks
    channels = {"count": 1, "first": _ALU_CODE, "outer": pixels, "inner": part.blocks}
    channels |= {"to_outer": part.blocks, "to_inner": 1, "from_inner": SCALE_VECTORS, "to_base": sums}
    start = {**channels, "alu": _MOVE, "from_base": SCALE_VECTORS * part.block}
    scale = {**channels, "alu": _SCALE, "from_base": SCALE_VECTORS * part.block + 1}
    clip = {
        **{"alu": _CLIP, "count": 1, "first": _ALU_CODE, "outer": count, "inner": 1},
        **{"to_outer": 1, "from_outer": 1, "to_base": results, "from_base": sums},
        **{"value": window.clip.zero_point, "least": window.clip.least, "greatest": window.clip.greatest},
    }
    return NpuTile(
        loads=_loads(window, tiling, part, thread, threads),
        before=(instruction("ALU", start),),
        products=tuple(_products(window, tiling, part, sums, thread, threads)),
        scaled=(instruction("ALU", scale), instruction("ALU", clip)),
        store=_store(window, part, results),
    )


def _products(
    window: NpuWindow, tiling: Tiling, part: _TilePlace, sums: int, thread: int, threads: int
) -> Iterator[NpuCommand]:
    """An instruction for each 16 channels of the result."""
    pixel = _vectors_of_pixel(window, part.blocks)
    row = window.reach(1, tiling.columns) * pixel
    image, weights = thread * room("INPUT", threads), thread * room("WEIGHT", threads)
    for block in range(part.blocks):
        fields = {
            **{"first": 1, "count": window.tiles_of_block, "outer": part.rows, "inner": part.columns},
            **{"to_outer": part.columns * part.blocks, "to_inner": part.blocks, "to_base": sums + block},
            **{"from_outer": window.stride[0] * row, "from_inner": window.stride[1] * pixel},
            "from_base": image + (block if window.is_depthwise else 0),
            "tile_base": weights + (block * window.tiles_of_block if window.has_weights else 0),
        }
        yield instruction("GEMM", fields)


def _loads(
    window: NpuWindow, tiling: Tiling, part: _TilePlace, thread: int, threads: int
) -> tuple[NpuCommand, ...]:
    weights, place = thread * room("WEIGHT", threads), layout(window).weights
    if window.has_weights:
        size = LANES if window.is_depthwise else LANES * LANES
        first, entries = part.block * window.tiles_of_block, part.blocks * window.tiles_of_block
    else:
        size, first, entries = LANES, 0, 1
    tiles = load(
        "WEIGHT",
        CONSTANTS,
        place + first * size,
        index=weights,
        diagonal=int(window.is_depthwise),
        **_entries(entries, size),
    )
    return tiles, _image(window, tiling, part, thread, threads)


def _image(window: NpuWindow, tiling: Tiling, part: _TilePlace, thread: int, threads: int) -> NpuCommand:
    """Loads the pixels under a tile; columns of padding fill rows up to those of a whole tile."""
    first = [
        begin * step - margin
        for begin, step, margin in zip((part.row, part.column), window.stride, window.before, strict=True)
    ]
    stop = (first[0] + window.reach(0, part.rows), first[1] + window.reach(1, tiling.columns))
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
        index=thread * room("INPUT", threads),
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


def _store(window: NpuWindow, part: _TilePlace, results: int) -> NpuCommand:
    channels = window.y[2]
    fields = {
        **{"base": Y, "index": results, "rows": part.rows, "columns": part.columns},
        "offset": (part.row * window.y[1] + part.column) * channels + LANES * part.block,
        **{"row_stride": window.y[1] * channels, "column_stride": channels},
        "bytes": min(LANES * part.blocks, channels - LANES * part.block),
    }
    return instruction("STORE", fields)
