"""Tiles of sums of products for an FPU: what its 32 registers hold, and rows divide into."""

from __future__ import annotations

from codegen.kernels.knobs import Point

CHANNELS = 4  # of a tile of a convolution
_MOST_PIXELS = 4
_MOST_ALONG = 6  # pixels of one channel
_MOST_TAPS = 9  # written out
_MOST_TURNS = 4  # of a dot product


def dot_tile(width: int, channels: int, length: int) -> Point:
    """Each input is loaded once for the tile's channels, each weight once for its pixels."""
    turns = next(n for n in range(_MOST_TURNS, 0, -1) if length % n == 0)
    return {"column": pixels_of(width, _MOST_PIXELS), "o": min(CHANNELS, channels), "turns": turns}


def depthwise_tile(width: int, rows: int, columns: int) -> Point:
    """Neighbouring pixels of a channel share its weights, and each other's window."""
    taps = rows * columns
    turns = taps if taps <= _MOST_TAPS else columns
    return {"column": pixels_of(width, _MOST_ALONG), "turns": turns}


def pixels_of(width: int, most: int) -> int:
    """The fewest tiles, those left over included; among them the smallest."""
    return min(range(1, min(width, most) + 1), key=lambda n: (width // n + width % n, n))
