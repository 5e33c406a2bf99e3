"""Chooses a tile of sums for cores without SIMD that have many registers.

A tile of P pixels and C channels loads P + C elements for P * C products. Registers hold its sums, the
elements of its shorter side, one of the longer, a product, two pointers and the loop's end. Each sum has
separate code to store it, so a larger tile must save enough instructions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

MOST_PIXELS, MOST_CHANNELS = 6, 8
_RESERVED_REGISTERS = 5  # besides sums and kept elements
_INSTRUCTIONS_PER_ITERATION = 3  # besides products
_INSTRUCTIONS_PER_TILE = 12  # besides iterations
INSTRUCTIONS_PER_SUM = 11  # for its store
_BYTES_PER_LOOP = 40  # code
BYTES_PER_SUM = 44  # code, from its first value to its store
_BYTES_PER_INSTRUCTION = 3  # approximate
UNROLL_CHOICES = (1, 2, 4)  # unrolled iterations of a loop
INSTRUCTIONS_WORTH_A_BYTE = 64  # that a byte of code must save per run


@dataclass(frozen=True, slots=True)
class Sums:
    """The sums of a layer: how many there are, and the products of each."""

    rows: int
    pixels: int
    channels: int
    products: int


def widest_tile(sums: Sums, registers: int, least: tuple[int, int]) -> tuple[int, int]:
    """Returns the pixels and channels of the cheapest tile that fits the registers.

    It is at least `least`, unless the row is smaller.
    """
    widths = range(min(least[0], sums.pixels), min(sums.pixels, MOST_PIXELS) + 1)
    heights = range(min(least[1], sums.channels), min(sums.channels, MOST_CHANNELS) + 1)
    fitting = [size for size in product(widths, heights) if _registers(*size) <= registers]
    return min(fitting, key=lambda size: (_cost(sums, *size), size))


def widest_cost(sums: Sums, registers: int, least: tuple[int, int]) -> int:
    """Returns the cost of that tile: approximate instructions of a run, plus the cost of its code.

    Cores with few registers use the least.
    """
    size = widest_tile(sums, registers, least) if registers else least
    return _cost(sums, *size)


def iterations_written_out(sums: Sums, size: tuple[int, int], length: int) -> int:
    """Returns the unrolled iterations of a loop of that length: as many as justify their code.

    Tiles of several pixels have no registers left for longer iterations.
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
    """Returns the approximate instructions of a run, plus the cost of the code in instructions."""
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
    """Yields count and length of the full tiles along an extent, then of the smaller one at its end."""
    whole, rest = divmod(extent, size)
    yield whole, size
    if rest:
        yield 1, rest
