"""Files damaged at random: bits and bytes of any file; words, numbers and lines of those that are text."""

import re
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


_WORD = re.compile(rb"\"[^\"\n]*\"|-?\d+(?:\.\d+)?|\w+")
_OTHER_WORDS = (
    b"", b"0", b"1", b"-1", b"1e999", b"nan", b"18446744073709551616", b"9" * 400, b"true", b"null", b'""',
    b"[]", b"{}", b"[[[[[[[[]]]]]]]]", b'"\\u0000"', b'"\x1b[2J"', b'"../../etc/passwd"', b'"/dev/zero"',
    b"\xff\xfe",
)  # fmt: skip
_DEEP = b"[" * 3000


def mutated_text(data: bytes, rng: np.random.Generator) -> bytes:
    """One to four words or lines are others; one file in ten is damaged as bytes instead."""
    if rng.random() < 0.1:
        return mutated(data, rng)
    for _ in range(rng.integers(1, 5)):
        data = _TEXT_DAMAGES[rng.integers(len(_TEXT_DAMAGES))](data, rng)
    return data


def _a_word(data: bytes, rng: np.random.Generator) -> tuple[int, int]:
    """Where one begins and ends, near a random place: large files are not searched as a whole."""
    start = int(rng.integers(0, max(1, len(data))))
    found = _WORD.search(data, start, start + 2000) or _WORD.search(data, 0, 2000)
    return (0, 0) if found is None else found.span()


def _another_word(data: bytes, rng: np.random.Generator) -> bytes:
    begin, end = _a_word(data, rng)
    deep = rng.random() < 0.01
    return data[:begin] + (_DEEP if deep else _OTHER_WORDS[rng.integers(len(_OTHER_WORDS))]) + data[end:]


def _a_word_of_elsewhere(data: bytes, rng: np.random.Generator) -> bytes:
    (begin, end), (first, last) = _a_word(data, rng), _a_word(data, rng)
    return data[:begin] + data[first:last] + data[end:]


def _a_line_moves(data: bytes, rng: np.random.Generator) -> bytes:
    """It is lost, or comes once more elsewhere."""
    lines = data.splitlines(keepends=True) or [b""]
    line = lines[rng.integers(len(lines))]
    if rng.random() < 0.5:
        lines.remove(line)
    else:
        lines.insert(int(rng.integers(len(lines) + 1)), line)
    return b"".join(lines)


_TEXT_DAMAGES = (_another_word, _another_word, _a_word_of_elsewhere, _a_line_moves)
