"""What boot ROMs and bootloaders want of a program on bare metal."""

from __future__ import annotations

import re
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from platforms.base import Firmware
from platforms.elf import symbols
from platforms.uf2_file import uf2_blocks

GCC = "arm-none-eabi-gcc"
Build = Callable[..., Firmware]


def test_the_boot_code_of_the_rp2040_is_what_its_comments_say(
    repo_root: Path, tmp_path: Path, require_tool: Callable[[str], None]
) -> None:
    require_tool("arm-none-eabi-as")
    text = (repo_root / "project_templates" / "chips" / "boot_rp2040.c").read_text()
    said = re.findall(r"^ {8}((?:0x[0-9A-F]{4}u, ?)+) */\* (.*?)(?: -- .*)? \*/$", text, re.MULTILINE)
    words = re.findall(r"^ {8}0x([0-9A-F]{8})u, /\* (\w+)", text, re.MULTILINE)
    listing = [line for _, line in said] + [f"{name}: .word 0x{word}" for word, name in words]
    source = "\n".join([".syntax unified", ".cpu cortex-m0plus", ".thumb", *listing, ""])
    (tmp_path / "boot.s").write_text(source)
    for argv in (
        ["arm-none-eabi-as", "-o", "boot.o", "boot.s"],
        ["arm-none-eabi-objcopy", "-O", "binary", "boot.o"],
    ):
        subprocess.run(argv, cwd=tmp_path, check=True)
    halves = [int(half, 16) for halves, _ in said for half in re.findall(r"0x([0-9A-F]{4})u", halves)]
    code = struct.pack(f"<{len(halves)}H", *halves) + b"".join(
        struct.pack("<I", int(word, 16)) for word, _ in words
    )
    assert (tmp_path / "boot.o").read_bytes() == code
    (checksum,) = re.findall(r"^ {4}0x([0-9A-F]{8})u,$", text, re.MULTILINE)
    assert int(checksum, 16) == _crc32_highest_first(code.ljust(252, b"\0"))


def _crc32_highest_first(data: bytes) -> int:
    crc = 0xFFFF_FFFF
    for byte in data:
        crc ^= byte << 24
        for _ in range(8):
            crc = (crc << 1 ^ (0x04C1_1DB7 if crc >> 31 else 0)) & 0xFFFF_FFFF
    return crc


@pytest.mark.arm
def test_what_the_boot_roms_look_for_lies_where_they_look(
    bare_firmware: Build, require_tool: Callable[[str], None]
) -> None:
    require_tool(GCC)
    pico = bare_firmware("rpi-pico").elf
    image = pico.with_suffix(".uf2").read_bytes()
    first = struct.unpack_from("<8I", image)
    assert first[3] == 0x1000_0000
    assert first[7] == 0xE48B_FF56
    assert _crc32_highest_first(image[32 : 32 + 252]) == struct.unpack_from("<I", image, 32 + 252)[0]
    (stack, start) = struct.unpack_from("<II", image, 512 + 32)
    places = {symbol.name: symbol.address for symbol in symbols(pico)}
    assert (stack, start) == (places["board_stack_high"], places["Reset_Handler"] | 1)
    pico2 = {symbol.name: symbol.address for symbol in symbols(bare_firmware("rpi-pico2").elf)}
    assert pico2["vectors"] == 0x1000_0000
    assert pico2["image"] < 0x1000_1000


def test_a_uf2_file_is_made_of_whole_pages() -> None:
    (first, second) = uf2_blocks(0x1000_0000, bytes(range(256)) + b"\xaa", 7)
    assert struct.unpack_from("<8I", second) == (
        *(0x0A32_4655, 0x9E5D_5157, 0x2000, 0x1000_0100, 256, 1, 2, 7),
    )
    assert first[32:288] == bytes(range(256))
    assert second[32:34] == b"\xaa\0"
    assert [len(first), first[-4:]] == [512, struct.pack("<I", 0x0AB1_6F30)]
