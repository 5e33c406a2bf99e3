"""Bare metal on real chips: clocks, pins, UARTs and starts as manuals and boot ROMs have them."""

import re
import struct
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from every_board import EVERY_BOARD

from boards.board import Board
from platforms.bare_board import bare_board, is_bare_board
from platforms.base import Firmware
from platforms.board_files import load_board
from platforms.chip_families import FAMILIES
from platforms.elf import symbols
from platforms.project import App
from platforms.uf2_file import uf2_blocks

BARE = tuple(board.name for board in EVERY_BOARD if is_bare_board(board))
GCC = "arm-none-eabi-gcc"
# A board of each family.
REPRESENTATIVES = (
    "nucleo-f446re",
    "nucleo-f429zi",
    "nucleo-f746zg",
    "nucleo-l476rg",
    "nucleo-h743zi",
    "nrf52dk",
    "nrf52840dk",
    "rpi-pico",
    "rpi-pico2",
)
BAUD_MOST_OFF = 0.005  # of the rate: half of what a receiver bears when the oscillator is 1 % off


def test_there_is_a_board_of_each_family_and_of_each_chip(repo_root):
    chips = {path.stem for path in (repo_root / "boards" / "chip").glob("*.toml")}
    assert {bare_board(load_board(name)).chip.name for name in BARE} == chips
    assert {bare_board(load_board(name)).chip.family for name in REPRESENTATIVES} == set(FAMILIES)


@pytest.mark.arm
@pytest.mark.slow
@pytest.mark.parametrize("app", [App.RPC, App.STANDALONE])
@pytest.mark.parametrize("name", BARE)
def test_firmware_is_built_for_each_board_without_a_word_of_the_compiler(
    name, app, bare_firmware, require_tool
):
    require_tool(GCC)
    program = bare_firmware(name, app).elf
    vectors = next(symbol for symbol in symbols(program) if symbol.name == "vectors")
    bare = bare_board(load_board(name))
    assert vectors.bytes == 4 * (16 + bare.chip.interrupts)
    at_least = 1 << (vectors.bytes - 1).bit_length()  # the hardware takes a table at a multiple of its size
    assert vectors.address % at_least == 0


# The hertz of a core and of its UART's bits, as the chip's manual reads its registers after a start.
Registers = Callable[[int], int]


def _f4(read: Registers, brr: int) -> tuple[float, float]:
    pll, cfgr = read(0x4002_3804), read(0x4002_3808)
    assert pll >> 22 & 1 == 0  # from the internal oscillator
    vco = 16e6 / (pll & 63) * (pll >> 6 & 511)
    assert 192e6 <= vco <= 432e6
    hz = vco / (2 * (pll >> 16 & 3) + 2)
    assert cfgr & 3 == 2
    waits = read(0x4002_3C00) & 15
    assert waits * 30e6 < hz <= (waits + 1) * 30e6
    by_code = {0: 1, 4: 2, 5: 4, 6: 8, 7: 16}
    bus = {0x4001_1008: cfgr >> 13 & 7, 0x4001_100C: cfgr >> 13 & 7}.get(brr, cfgr >> 10 & 7)
    return hz, hz / by_code[bus] / read(brr)


def _l4(read: Registers, brr: int) -> tuple[float, float]:
    pll = read(0x4002_100C)
    assert pll & 3 == 2
    hz = 16e6 / ((pll >> 4 & 7) + 1) * (pll >> 8 & 127) / (2 * (pll >> 25 & 3) + 2)
    assert pll >> 24 & 1
    assert read(0x4002_1008) & 3 == 3
    assert read(0x4002_2000) & 7 == 4
    return hz, hz / read(brr)


def _h7(read: Registers, brr: int) -> tuple[float, float]:
    select, divide = read(0x5802_4428), read(0x5802_4430)
    hz = 64e6 / (select >> 4 & 63) * ((divide & 511) + 1) / ((divide >> 9 & 127) + 1)
    assert read(0x5802_4410) & 7 == 3
    assert read(0x5802_4418) == 0x48  # AXI and AHB at half, APB3 at half of that
    assert read(0x5802_4454) & 7 == 3  # USART2 to 5, 7 and 8 on the internal oscillator
    return hz, 64e6 / read(brr)


def _nrf(read: Registers, _brr: int) -> tuple[float, float]:
    assert read(0x4000_0000) == 1
    return 64e6, 16e6 * read(0x4000_2524) / 2**32


def _rp2(pll: int, clocks: int, uart: int) -> Callable[[Registers, int], tuple[float, float]]:
    def clocks_of(read: Registers, _brr: int) -> tuple[float, float]:
        vco = 12e6 * read(pll + 8)
        assert 750e6 <= vco <= 1600e6
        post = read(pll + 12)
        hz = vco / (post >> 16 & 7) / (post >> 12 & 7)
        assert read(clocks + 0x3C) == 1  # the system runs on the PLL
        assert read(clocks + 0x48) == 1 << 11  # and peripherals as the system
        return hz, hz / 16 / (read(uart + 0x24) + read(uart + 0x28) / 64)

    return clocks_of


CLOCKS = {
    "nucleo-f446re": (_f4, 0x4000_4408),
    "nucleo-f429zi": (_f4, 0x4000_4808),
    "nucleo-f746zg": (_f4, 0x4000_480C),
    "nucleo-l476rg": (_l4, 0x4000_440C),
    "nucleo-h743zi": (_h7, 0x4000_480C),
    "nrf52dk": (_nrf, 0),
    "nrf52840dk": (_nrf, 0),
    "rpi-pico": (_rp2(0x4002_8000, 0x4000_8000, 0x4003_4000), 0),
    "rpi-pico2": (_rp2(0x4005_0000, 0x4001_0000, 0x4007_0000), 0),
}
AFTER_RESET_HZ = {
    "nucleo-f446re": 16_000_000,
    "nucleo-f429zi": 16_000_000,
    "nucleo-f746zg": 16_000_000,
    "nucleo-l476rg": 4_000_000,
    "nucleo-h743zi": 64_000_000,
    "nrf52dk": 64_000_000,
    "nrf52840dk": 64_000_000,
    "rpi-pico": 6_500_000,
    "rpi-pico2": 6_500_000,
}


@dataclass(frozen=True)
class Started:
    """A board's registers and variables after board_init()."""

    read: Registers
    value: Callable[[str], int]


def started(firmware: Firmware, board: Board, oscillators_start: bool) -> Started:
    """Runs board_init() in a processor around which every register is memory."""
    unicorn = pytest.importorskip("unicorn")
    from unicorn import arm_const

    from platforms.elf import segments

    machine = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
    machine.ctl_set_cpu_model(getattr(arm_const, f"UC_CPU_{board.core.unicorn or 'ARM_CORTEX_M4'}"))
    places = {symbol.name: symbol.address for symbol in symbols(firmware.elf)}

    def page(uc: object, _kind: int, address: int, *_rest: object) -> bool:
        machine.mem_map(address & ~0xFFF, 0x1000)
        return True

    def becomes(uc: object, *_rest: object) -> None:
        machine.reg_write(arm_const.UC_ARM_REG_R0, int(oscillators_start))
        machine.reg_write(arm_const.UC_ARM_REG_PC, machine.reg_read(arm_const.UC_ARM_REG_LR))

    machine.hook_add(unicorn.UC_HOOK_MEM_UNMAPPED, page)
    for region in board.regions:
        machine.mem_map(region.origin, -(-region.bytes // 0x1000) * 0x1000)
    for segment in segments(firmware.elf):
        machine.mem_write(segment.addresses.start, segment.data)
    poll = places["board_becomes"] & ~1
    machine.hook_add(unicorn.UC_HOOK_CODE, becomes, begin=poll, end=poll)
    end = places["Reset_Handler"] & ~1
    machine.reg_write(arm_const.UC_ARM_REG_SP, places["board_stack_high"])
    machine.reg_write(arm_const.UC_ARM_REG_LR, end | 1)
    machine.emu_start(places["board_init"] | 1, end, timeout=5_000_000)

    def read(address: int) -> int:
        (word,) = struct.unpack("<I", machine.mem_read(address, 4))
        return int(word)

    return Started(read, lambda name: read(places[name]))


@pytest.mark.arm
@pytest.mark.parametrize("name", REPRESENTATIVES)
def test_a_chip_runs_at_its_boards_clock_as_its_manual_reads_the_registers(
    name, bare_firmware, require_tool, require_package
):
    require_tool(GCC)
    require_package("unicorn")
    board = load_board(name)
    begun = started(bare_firmware(name), board, oscillators_start=True)
    clocks, brr = CLOCKS[name]
    hz, baud = clocks(begun.read, brr)
    assert hz == begun.value("board_clock_hz") == board.clock_hz
    assert abs(baud - 115_200) < 115_200 * BAUD_MOST_OFF


@pytest.mark.arm
@pytest.mark.parametrize("name", REPRESENTATIVES)
def test_a_chip_whose_oscillator_does_not_start_runs_on_and_knows_at_how_much(
    name, bare_firmware, require_tool, require_package
):
    require_tool(GCC)
    require_package("unicorn")
    begun = started(bare_firmware(name), load_board(name), oscillators_start=False)
    assert begun.value("board_clock_hz") == AFTER_RESET_HZ[name]


@pytest.mark.arm
def test_pins_have_the_uarts_function(bare_firmware, require_tool, require_package):
    require_tool(GCC)
    require_package("unicorn")
    read = started(bare_firmware("nucleo-f446re"), load_board("nucleo-f446re"), oscillators_start=True).read
    assert read(0x4002_0000) == 0b1010_0000  # PA2, PA3: alternate functions
    assert read(0x4002_0020) == 0x7700  # 7: USART2
    assert read(0x4002_3830) == 1  # GPIOA is on
    assert read(0x4002_3840) & 1 << 17  # and USART2
    read = started(bare_firmware("nrf52840dk"), load_board("nrf52840dk"), oscillators_start=True).read
    assert (read(0x4000_250C), read(0x4000_2514)) == (6, 8)
    read = started(bare_firmware("rpi-pico"), load_board("rpi-pico"), oscillators_start=True).read
    assert (read(0x4001_4004), read(0x4001_400C)) == (2, 2)


def test_the_boot_code_of_the_rp2040_is_what_its_comments_say(repo_root, tmp_path, require_tool):
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
def test_what_the_boot_roms_look_for_lies_where_they_look(bare_firmware, require_tool):
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


def test_a_uf2_file_is_made_of_whole_pages():
    (first, second) = uf2_blocks(0x1000_0000, bytes(range(256)) + b"\xaa", 7)
    assert struct.unpack_from("<8I", second) == (
        *(0x0A32_4655, 0x9E5D_5157, 0x2000, 0x1000_0100, 256, 1, 2, 7),
    )
    assert first[32:288] == bytes(range(256))
    assert second[32:34] == b"\xaa\0"
    assert [len(first), first[-4:]] == [512, struct.pack("<I", 0x0AB1_6F30)]
