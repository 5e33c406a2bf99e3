"""Tiles of sums of products for an FPU with 32 registers."""

from __future__ import annotations

from codegen.kernels.knobs import Point

CHANNELS = 4  # of a tile of a convolution
_MOST_PIXELS = 4
_MOST_ALONG = 6  # pixels of one channel
_MOST_TAPS = 9  # unrolled
_MOST_TURNS = 4  # unrolled iterations of a dot product


def dot_tile(width: int, channels: int, length: int) -> Point:
    """Returns a tile that loads each input once for its channels, and each weight once for its pixels."""
    turns = next(n for n in range(_MOST_TURNS, 0, -1) if length % n == 0)
    return {"column": pixels_of(width, _MOST_PIXELS), "o": min(CHANNELS, channels), "turns": turns}


def depthwise_tile(width: int, rows: int, columns: int) -> Point:
    """Returns a tile of neighboring pixels of a channel, which share weights and parts of their windows."""
    taps = rows * columns
    turns = taps if taps <= _MOST_TAPS else columns
    return {"column": pixels_of(width, _MOST_ALONG), "turns": turns}


def pixels_of(width: int, most: int) -> int:
    """Returns the smallest tile width with the fewest tiles, including those of the remainder."""
    return min(range(1, min(width, most) + 1), key=lambda n: (width // n + width % n, n))
