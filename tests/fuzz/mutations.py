"""Files damaged at random: bits flipped, extreme bytes, numbers and offsets swapped, ends cut off."""

from __future__ import annotations

import struct

import numpy as np

_EXTREME_BYTES = (0, 1, 0x7F, 0x80, 0xFF)
_EXTREME_WORDS = (0, 1, -1, 2**31 - 1, -(2**31), 2**16, 2**24)


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """One to four damages of one kind."""
    changed = bytearray(data)
    damage = _DAMAGES[rng.integers(len(_DAMAGES))]
    for _ in range(rng.integers(1, 5)):
        damage(changed, rng)
    return bytes(changed)


def _place(data: bytearray, rng: np.random.Generator, size: int = 1) -> int:
    """Mostly where structure is: half of the damages meet the first kilobyte or the last two."""
    last = max(1, len(data) - size + 1)
    if rng.random() < 0.5 and last > 4096:
        near = int(rng.integers(0, 3072))
        return near if near < 1024 else last - 1 - (near - 1024)
    return int(rng.integers(0, last))


def _flip_a_bit(data: bytearray, rng: np.random.Generator) -> None:
    data[_place(data, rng)] ^= 1 << int(rng.integers(8))


def _set_a_byte(data: bytearray, rng: np.random.Generator) -> None:
    data[_place(data, rng)] = int(rng.choice(_EXTREME_BYTES))


def _set_a_word(data: bytearray, rng: np.random.Generator) -> None:
    if len(data) >= 4:
        struct.pack_into("<i", data, _place(data, rng, 4) & ~3, int(rng.choice(_EXTREME_WORDS)))


def _swap_words(data: bytearray, rng: np.random.Generator) -> None:
    if len(data) >= 8:
        first, second = (_place(data, rng, 4) & ~3 for _ in range(2))
        data[first : first + 4], data[second : second + 4] = (
            data[second : second + 4],
            data[first : first + 4],
        )


def _copy_a_piece(data: bytearray, rng: np.random.Generator) -> None:
    size = int(rng.integers(1, 33))
    source, target = _place(data, rng, size), _place(data, rng, size)
    data[target : target + size] = data[source : source + size]


def _cut(data: bytearray, rng: np.random.Generator) -> None:
    del data[max(1, _place(data, rng)) :]


_DAMAGES = (_flip_a_bit, _flip_a_bit, _set_a_byte, _set_a_word, _swap_words, _copy_a_piece, _cut)
