"""Writes UF2 files for bootloaders that appear as USB drives (Microsoft, version 1)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from platforms.elf import image

PAYLOAD_BYTES = 256
_BLOCK = struct.Struct("<8I476sI")
_MAGIC = (0x0A324655, 0x9E5D5157)
_MAGIC_END = 0x0AB16F30
_HAS_FAMILY = 0x2000


def write_uf2(program: Path, family: int) -> Path:
    """Writes an ELF file's image as a .uf2 file next to it and returns its path.

    `family` identifies the chip.
    """
    address, data = image(program)
    path = program.with_suffix(".uf2")
    path.write_bytes(b"".join(uf2_blocks(address, data, family)))
    return path


def uf2_blocks(address: int, data: bytes, family: int) -> Iterator[bytes]:
    """Yields a block for each flash page. `address` must be page-aligned."""
    count = -(-len(data) // PAYLOAD_BYTES)
    for number in range(count):
        payload = data[number * PAYLOAD_BYTES :][:PAYLOAD_BYTES].ljust(PAYLOAD_BYTES, b"\0")
        place = address + number * PAYLOAD_BYTES
        yield _BLOCK.pack(
            *_MAGIC, _HAS_FAMILY, place, PAYLOAD_BYTES, number, count, family, payload, _MAGIC_END
        )
