"""Our own board files: every one loads and says what is needed."""

import itertools
from dataclasses import replace

import pytest
from every_board import EVERY_BOARD

from aot.target import Feature, FlashReads
from boards.board import BoardStatus
from platforms.board_files import load_board

BOARDS = EVERY_BOARD
KIB = 1024
# Which our predecessor had, and those that people buy today.
REAL_BOARDS = (
    *("nucleo-f746zg", "nucleo-l4r5zi", "stm32f746g-disco", "b-u585i-iot02a", "nrf5340dk", "mimxrt1050-evk"),
    *(
        "arduino-due",
        "feather-s2",
        "metro-m4",
        "spresense",
        "nano-33-ble",
        "portenta-h7",
        "pybadge",
        "rpi-pico",
    ),
    *("teensy40", "teensy41", "wio-terminal", "arduino-uno", "arduino-mega", "nrf52840dk", "nrf54l15dk"),
    *(
        "nucleo-f446re",
        "nucleo-h743zi",
        "nucleo-u575zi-q",
        "rpi-pico2",
        "nano-rp2040-connect",
        "xiao-nrf52840",
    ),
    *("uno-r4-minima", "uno-r4-wifi", "mimxrt1060-evk", "frdm-mcxn947", "ek-ra8m1", "alif-e7-devkit"),
)


def test_every_emulated_board_is_there():
    names = {board.name for board in BOARDS}
    assert names >= {"host", "mps2-an385", "mps2-an386", "mps2-an500", "mps2-an505", "mps3-an547"}


def test_the_boards_that_people_have_are_there():
    assert set(REAL_BOARDS) <= {board.name for board in BOARDS}


def test_boards_are_sorted_by_name():
    assert [board.name for board in BOARDS] == sorted(board.name for board in BOARDS)


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_a_board_has_a_known_core_and_only_features_of_it(board):
    assert board.core.has <= board.features <= board.core.has | board.core.can_have


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_a_boards_regions_have_a_size_a_name_of_their_own_and_no_byte_in_common(board):
    taken = sorted((region.origin, region.origin + region.bytes) for region in board.regions)
    assert all(start < end <= 1 << 32 for start, end in taken)
    assert all(low_end <= high_start for (_, low_end), (high_start, _) in itertools.pairwise(taken))
    names = [region.name for region in board.regions]
    assert len(set(names)) == len(names)
    assert all(name.isidentifier() for name in names)  # they are names in a linker script


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_a_board_that_nobody_ran_says_why(board):
    assert bool(board.reason) == (board.status is BoardStatus.DATA_ONLY)


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_a_core_with_helium_has_simd_and_only_a_cycle_counter_runs_at_the_cores_clock(board):
    assert Feature.MVE not in board.features or Feature.DSP in board.features
    counter = board.own_counter  # a board without platforms may have none
    assert counter is None or counter.driver != "dwt" or counter.hz == board.clock_hz


@pytest.mark.parametrize("platform", ["zephyr", "arduino"])
def test_no_two_boards_share_a_platforms_name(platform):
    names = [tuple(b.platforms[platform].values()) for b in BOARDS if platform in b.platforms]
    assert len(names) > 10
    assert len(set(names)) == len(names)


def test_titles_are_unique():
    assert len({board.title for board in BOARDS}) == len(BOARDS)


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_a_runner_has_the_platform_it_works_with(board):
    for runner, platform in (("west", "zephyr"), ("arduino-cli", "arduino")):
        assert runner not in board.runners or platform in board.platforms


@pytest.mark.parametrize(
    ("name", "core", "ram_bytes", "flash_bytes"),
    [
        ("nrf52840dk", "cortex-m4", 256 * KIB, 1024 * KIB),
        ("nrf54l15dk", "cortex-m33", 188 * KIB, 1428 * KIB),
        ("nucleo-f446re", "cortex-m4", 128 * KIB, 512 * KIB),
        ("nucleo-f746zg", "cortex-m7", 320 * KIB, 1024 * KIB),
        ("nucleo-l4r5zi", "cortex-m4", 640 * KIB, 2048 * KIB),
        ("nucleo-u575zi-q", "cortex-m33", 768 * KIB, 2048 * KIB),
        ("rpi-pico", "cortex-m0plus", 264 * KIB, 2048 * KIB),
        ("rpi-pico2", "cortex-m33", 520 * KIB, 4096 * KIB),
        ("uno-r4-wifi", "cortex-m4", 32 * KIB, 240 * KIB),
        ("arduino-due", "cortex-m3", 96 * KIB, 512 * KIB),
    ],
)
def test_a_board_has_the_memory_that_its_sources_name(name, core, ram_bytes, flash_bytes):
    target = load_board(name).target
    assert (target.core, target.ram_bytes, target.flash_bytes) == (core, ram_bytes, flash_bytes)


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_a_boards_file_says_where_its_facts_are_from(board):
    assert board.sources
    assert all(len(source) > 10 for source in board.sources)


def test_the_an386_is_what_its_documents_say():
    board = load_board("mps2-an386")
    assert board.core.name == "cortex-m4"
    assert board.features == {Feature.DSP, Feature.FPU, Feature.UNALIGNED}
    assert board.target.flash_bytes == board.target.ram_bytes == 4 * 1024 * 1024
    assert board.uart is not None
    assert board.uart.address == 0x4000_4000
    assert (board.counter.address, board.counter.hz) == (0x4002_8018, 25_000_000)
    assert list(board.runners) == ["qemu", "unicorn"]


def test_the_host_has_pointers_of_eight_bytes_and_no_uart():
    board = load_board("host")
    assert board.target.pointer_bytes == 8
    assert board.uart is None


def test_ticks_of_an_emulated_board_are_whole_instructions():
    counter = load_board("mps2-an386").counter
    assert [counter.instructions(ticks) for ticks in (0, 6, 6_400, 6_401)] == [0, 1, 1000, 1000]


def test_ticks_of_the_host_are_not_instructions():
    counter = load_board("host").counter
    with pytest.raises(ValueError, match="measures time"):
        counter.instructions(1)


def test_the_region_of_a_role_is_the_fastest_one():
    assert load_board("mps3-an547").region("ram").name == "RAM"


@pytest.mark.parametrize(
    ("name", "clock_hz", "cache_bytes"),
    [
        ("nucleo-l4r5zi", 80_000_000, 1024),
        ("nucleo-l4r5zi", 20_000_000, 0),
        ("nucleo-f429zi", 180_000_000, 1024),
        ("nucleo-f746zg", 192_000_000, 4096),
        ("mps2-an386", 25_000_000, 0),
        ("nrf52840dk", 64_000_000, 0),
    ],
)
def test_the_compiler_knows_of_a_cache_before_flash_that_waits(name, clock_hz, cache_bytes):
    assert replace(load_board(name), clock_hz=clock_hz).target.code_cache_bytes == cache_bytes


@pytest.mark.parametrize(
    ("name", "clock_hz", "reads"),
    [
        ("nucleo-l4r5zi", 120_000_000, FlashReads(line_bytes=32, wait_cycles=4 * 6 - 1, sets=1, ways=8)),
        ("nrf5340dk", 128_000_000, FlashReads(line_bytes=16, wait_cycles=4, sets=256, ways=2)),
        ("nucleo-f429zi", 180_000_000, FlashReads(line_bytes=16, wait_cycles=5, sets=1, ways=8)),
        ("nucleo-f746zg", 192_000_000, FlashReads(line_bytes=32, wait_cycles=6, sets=32, ways=4)),
        ("mps2-an386", 25_000_000, FlashReads(line_bytes=4, wait_cycles=0)),
        ("nrf52840dk", 64_000_000, None),
    ],
)
def test_the_compiler_is_told_how_constants_are_read(name, clock_hz, reads):
    assert replace(load_board(name), clock_hz=clock_hz).target.flash_reads == reads


def test_what_no_public_source_confirms_is_in_few_files_and_said_there():
    """Others than these may not join them: a figure of a board is looked up before it is entered."""
    unconfirmed = {board.name for board in BOARDS if any("not checked" in text for text in board.sources)}
    assert unconfirmed <= {
        *("apollo510-evb", "ch32v203c8t6-evt", "ek-ra8p1", "esp32-p4-function-ev-board", "kit-pse84-eval"),
        *("lpcxpresso55s69", "mimxrt700-evk", "nrf9160dk", "stm32n6570-dk"),
    }


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_a_real_board_names_where_its_figures_are_from(board):
    assert board.sources or board.name in ("host", "native-sim")
