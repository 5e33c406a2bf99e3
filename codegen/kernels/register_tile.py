"""Chooses a tile of sums for cores without SIMD that have many registers.

A tile of P pixels and C channels reads P + C elements for P * C products. Its sums stay in registers, with
the elements of its shorter side, one of the longer and a product, two pointers and the end of the loop. Each
sum has its own code that stores it: a larger tile must save instructions enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

MOST_PIXELS, MOST_CHANNELS = 6, 8
_RESERVED_REGISTERS = 5  # beside sums and elements that are kept
_INSTRUCTIONS_PER_ITERATION = 3  # beside products
_INSTRUCTIONS_PER_TILE = 12  # beside iterations
INSTRUCTIONS_PER_SUM = 11  # of its end
_BYTES_PER_LOOP = 40  # of code
BYTES_PER_SUM = 44  # of code, from its first value to its store
_BYTES_PER_INSTRUCTION = 3  # about
UNROLL_CHOICES = (1, 2, 4)  # iterations of a loop that may be written out
INSTRUCTIONS_WORTH_A_BYTE = 64  # that a byte of code must save in a run


@dataclass(frozen=True, slots=True)
class Sums:
    """The sums of a layer: how many there are, and of how many products."""

    rows: int
    pixels: int
    channels: int
    products: int


def widest_tile(sums: Sums, registers: int, least: tuple[int, int]) -> tuple[int, int]:
    """The pixels and channels of the tile that costs least, of those for which there are registers.

    It is no smaller than `least`, where the row is not.
    """
    widths = range(min(least[0], sums.pixels), min(sums.pixels, MOST_PIXELS) + 1)
    heights = range(min(least[1], sums.channels), min(sums.channels, MOST_CHANNELS) + 1)
    fitting = [size for size in product(widths, heights) if _registers(*size) <= registers]
    return min(fitting, key=lambda size: (_cost(sums, *size), size))


def widest_cost(sums: Sums, registers: int, least: tuple[int, int]) -> int:
    """The cost of that tile: instructions of a run, about, with the code at its worth in instructions."""
    return _cost(sums, *widest_tile(sums, registers, least))


def iterations_written_out(sums: Sums, size: tuple[int, int], length: int) -> int:
    """The iterations of a loop of that length that are written out: as many as are worth their code.

    Sums of several pixels leave no registers for what a longer iteration holds.
    """
    if size[0] > 1:
        return 1
    tiles = sum(many * others for (many, _), (others, _) in _all_pieces(sums, *size))
    one = _BYTES_PER_INSTRUCTION * (sum(size) + 2 * size[0] * size[1])

    def saved(unroll: int) -> int:
        ends = _INSTRUCTIONS_PER_ITERATION * (sums.products - sums.products // unroll)
        return sums.rows * tiles * ends - INSTRUCTIONS_WORTH_A_BYTE * one * (unroll - 1)

    return max((unroll for unroll in UNROLL_CHOICES if length % unroll == 0), key=saved)


def _registers(pixels: int, channels: int) -> int:
    return pixels * channels + min(pixels, channels) + _RESERVED_REGISTERS


def _cost(sums: Sums, pixels: int, channels: int) -> int:
    """The instructions of a run, about, and the code at its worth in instructions."""
    pieces = _all_pieces(sums, pixels, channels)
    run = sum(
        many
        * others
        * (
            sums.products * (width + height + 2 * width * height + _INSTRUCTIONS_PER_ITERATION)
            + _INSTRUCTIONS_PER_TILE
            + INSTRUCTIONS_PER_SUM * width * height
        )
        for (many, width), (others, height) in pieces
    )
    code = sum(_BYTES_PER_LOOP + BYTES_PER_SUM * width * height for (_, width), (_, height) in pieces)
    return sums.rows * run + INSTRUCTIONS_WORTH_A_BYTE * code


def _all_pieces(sums: Sums, pixels: int, channels: int) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    return list(product(_pieces(sums.pixels, pixels), _pieces(sums.channels, channels)))


def _pieces(extent: int, size: int) -> Iterator[tuple[int, int]]:
    """Yields whole tiles along an extent, how many and how long, and the smaller one at its end."""
    whole, rest = divmod(extent, size)
    yield whole, size
    if rest:
        yield 1, rest
