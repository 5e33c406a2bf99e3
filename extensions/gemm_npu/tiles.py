"""Splits windows into tiles: which tilings fit the memories, and the resulting parts of the result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, product

from extensions.gemm_npu.machine import MEMORIES
from extensions.gemm_npu.window import NpuWindow, WindowResult

_MOST_PADDING = 255


@dataclass(frozen=True)
class Tiling:
    """The size of a tile, and the order of tiles."""

    rows: int
    columns: int
    blocks: int  # of channels
    keeps_weights: bool  # visits all pixels before the next channels


@dataclass(frozen=True)
class TilePlace:
    """A tile's position in the result: first row, column and block, and how many of each."""

    row: int
    column: int
    block: int
    rows: int
    columns: int
    blocks: int


@dataclass(frozen=True)
class CountedPart:
    """A rectangle of a tile whose means have equally many pixels. Positions are relative to the tile."""

    row: int
    column: int
    rows: int
    columns: int
    count: int


def room(memory: str, threads: int, taken: int = 0) -> int:
    """Returns the number of entries of a memory per thread."""
    return (MEMORIES[memory].entries - taken) // threads


def vectors_of_pixel(window: NpuWindow, tile_blocks: int) -> int:
    return tile_blocks if window.is_depthwise else window.depth_blocks


def pixels_under(window: NpuWindow, rows: int, columns: int) -> int:
    """Returns the number of input pixels under `rows` x `columns` of the result."""
    return window.reach(0, rows) * window.reach(1, columns)


def misfit(window: NpuWindow, threads: int) -> str:
    """Returns why not even one pixel fits the memories; empty if it does."""
    if max(window.x[2], window.y[2]) * max(window.stride[1], 1) >= 1 << 16:
        return f"{max(window.x[2], window.y[2]):,} channels, more than an instruction can step over"
    smallest = Tiling(1, 1, 1, False)
    needs = _needs(window, smallest)
    rooms = _rooms(window, threads)
    return next(
        (
            f"a tile of one pixel needs {needs[name]:,} entries of {name}, "
            f"which has {max(rooms[name], 0):,} for each of {threads} virtual threads"
            for name in needs
            if needs[name] > rooms[name]
        ),
        "",
    )


def fitting_tilings(window: NpuWindow, threads: int) -> list[Tiling]:
    return [each for each in _tilings(window) if _fits(window, each, threads)]


def parts(window: NpuWindow, tiling: Tiling) -> Iterator[TilePlace]:
    """Yields the tiles in execution order."""
    pixels = list(product(range(0, window.y[0], tiling.rows), range(0, window.y[1], tiling.columns)))
    channels = range(0, window.blocks, tiling.blocks)
    if tiling.keeps_weights:
        order = [(pixel, block) for block in channels for pixel in pixels]
    else:
        order = [(pixel, block) for pixel in pixels for block in channels]
    for (row, column), block in order:
        yield TilePlace(
            row,
            column,
            block,
            min(tiling.rows, window.y[0] - row),
            min(tiling.columns, window.y[1] - column),
            min(tiling.blocks, window.blocks - block),
        )


def counted_parts(window: NpuWindow, tile: TilePlace) -> Iterator[CountedPart]:
    """Splits a tile by the number of pixels under the window. Without padding, there is one part."""
    rows = _runs(window.seen[0][tile.row : tile.row + tile.rows])
    columns = _runs(window.seen[1][tile.column : tile.column + tile.columns])
    for (row, height, seen_rows), (column, width, seen_columns) in product(rows, columns):
        yield CountedPart(row, column, height, width, seen_rows * seen_columns)


def _runs(values: tuple[int, ...]) -> list[tuple[int, int, int]]:
    """Returns start, length and value of each run of equal values."""
    runs, at = [], 0
    for value, group in groupby(values):
        length = len(list(group))
        runs.append((at, length, value))
        at += length
    return runs


def _needs(window: NpuWindow, tiling: Tiling) -> dict[str, int]:
    results = tiling.rows * tiling.columns * tiling.blocks
    pixels = pixels_under(window, tiling.rows, tiling.columns) * vectors_of_pixel(window, tiling.blocks)
    return {
        "INPUT": pixels,
        "WEIGHT": tiling.blocks * window.tiles_of_block if window.has_weights else 1,
        "ACCUMULATOR": results + (pixels if window.made is WindowResult.LARGEST else 0),
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
            continue  # the last tile would have fewer vectors per pixel, and other microcode
        yield Tiling(height, width, depth, True)
        if depth < window.blocks and (height < rows or width < columns):
            yield Tiling(height, width, depth, False)


def _parts_of(size: int) -> list[int]:
    """Returns the size divided by ever larger numbers, without two that need the same number of parts."""
    counts = sorted(
        {min(1 << n, size) for n in range(size.bit_length() + 1)} | {n for n in (3, 5, 6, 7) if n < size}
    )
    return list(dict.fromkeys(-(-size // count) for count in counts))
