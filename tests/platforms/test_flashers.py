"""The exact command lines that write firmware to real boards; nothing is started and no board is needed."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from error_facts import refused
from every_board import EVERY_BOARD

from aot.errors import ToolError
from boards.board import Board
from platforms.board_files import load_board
from platforms.runners import FLASHERS
from platforms.runners.runner import BoardSelector, choose_dry, choose_runner, flash_commands, runner_named
from platforms.runners.uf2 import board_id_of, find_drive
from platforms.transport.base import LineBusyError, LineClosedError
from platforms.transport.ports import UsbPort, port_of

ELF = Path("/p/build/zephyr/zephyr.elf")
UNO = load_board("arduino-uno")


def with_runner(name: str, board: Board, **settings: object) -> Board:
    return replace(board, runners={name: settings})


# (runner, board, its settings, which of several, command line)
COMMANDS = [
    ("west", "nrf52840dk", {}, BoardSelector(), "west flash --build-dir /p/build"),
    ("west", "nrf52840dk", {}, BoardSelector("683"), "west flash --build-dir /p/build --dev-id 683"),
    (
        "west",
        "nucleo-f746zg",
        {"runner": "openocd"},
        BoardSelector("066F"),
        "west flash --build-dir /p/build --runner openocd --serial 066F",
    ),
    (
        "pyocd",
        "nrf52840dk",
        {"target": "nrf52840"},
        BoardSelector(),
        "pyocd flash --target nrf52840 --format elf /p/build/zephyr/zephyr.elf",
    ),
    (
        "pyocd",
        "nrf52840dk",
        {"target": "nrf52840"},
        BoardSelector("0683"),
        "pyocd flash --target nrf52840 --uid 0683 --format elf /p/build/zephyr/zephyr.elf",
    ),
    (
        "openocd",
        "nucleo-f446re",
        {"scripts": ["interface/stlink.cfg", "target/stm32f4x.cfg"]},
        BoardSelector("066F"),
        "openocd -f interface/stlink.cfg -f target/stm32f4x.cfg -c adapter serial 066F "
        "-c program {/p/build/zephyr/zephyr.elf} verify reset exit",
    ),
    (
        "arduino-cli",
        "arduino-uno",
        {},
        BoardSelector(port="/dev/ttyACM1"),
        "arduino-cli upload --fqbn arduino:avr:uno --port /dev/ttyACM1 --input-dir /p/build/zephyr",
    ),
    (
        "avrdude",
        "arduino-uno",
        {"programmer": "arduino", "baud": 115200},
        BoardSelector(port="/dev/ttyACM1"),
        "avrdude -p atmega328p -c arduino -P /dev/ttyACM1 -b 115200 -D "
        "-U flash:w:/p/build/zephyr/zephyr.hex:i",
    ),
    (
        "esptool",
        "arduino-uno",
        {"chip": "esp32s3", "baud": 921600, "offset": 0x1000},
        BoardSelector(port="COM3"),
        "esptool --chip esp32s3 --port COM3 --baud 921600 write-flash 0x1000 /p/build/zephyr/zephyr.bin",
    ),
    ("picotool", "rpi-pico", {}, BoardSelector(), "picotool load -f -x /p/build/zephyr/zephyr.elf -t elf"),
    (
        "picotool",
        "rpi-pico",
        {},
        BoardSelector("E66"),
        "picotool load --ser E66 -f -x /p/build/zephyr/zephyr.elf -t elf",
    ),
]


@pytest.mark.parametrize(("name", "board", "settings", "where", "wanted"), COMMANDS)
def test_a_runner_writes_with_this_command_line(name, board, settings, where, wanted):
    (argv,) = flash_commands(name, ELF, with_runner(name, load_board(board), **settings), where)
    assert " ".join(argv) == wanted


def test_every_flasher_but_the_copy_is_in_the_table_above():
    assert {name for name, *_ in COMMANDS} == set(FLASHERS) - {"uf2"}


def test_a_target_in_a_pack_is_installed_before_it_is_used():
    board = with_runner("pyocd", load_board("nrf54l15dk"), target="nrf54l", pack=True)
    install, _ = flash_commands("pyocd", ELF, board)
    assert install == ("pyocd", "pack", "install", "nrf54l")


def test_uf2_is_copied_to_the_drive_of_the_boards_bootloader(monkeypatch):
    drives = [(Path("/media/A"), "RPI-RP2"), (Path("/media/B"), "nRF52840-SeeedXiao-v1")]
    monkeypatch.setattr("platforms.runners.uf2.drives", lambda: drives)
    (argv,) = flash_commands("uf2", ELF, with_runner("uf2", UNO, board_id="nRF52840-SeeedXiao"))
    assert argv[0] == sys.executable
    assert argv[4:] == ("/p/build/zephyr/zephyr.uf2", "/media/B/NEW.UF2")


def test_a_drive_that_is_not_there_is_reported_with_those_that_are():
    refused(
        lambda: find_drive("RPI-RP2", [(Path("/media/B"), "SAMD51J19A")]),
        "RPI-RP2 bootloader drive mounted /media/B SAMD51J19A BOOTSEL start press",
        ToolError,
    )


def test_a_drives_board_id_is_read_from_its_info():
    assert board_id_of("UF2 Bootloader v3.0\nModel: Raspberry Pi RP2\nBoard-ID: RPI-RP2\n") == "RPI-RP2"
    assert board_id_of("") == ""


ONE = UsbPort("/dev/ttyACM0", 0x2341, 0x0043, "A1")
TWO = UsbPort("/dev/ttyACM1", 0x2341, 0x0043, "B2")
OTHER = UsbPort("/dev/ttyUSB0", 0x0403, 0x6001, "C3")


def test_the_only_board_with_the_boards_ids_is_taken():
    assert port_of(UNO, [OTHER, ONE], None) == "/dev/ttyACM0"


def test_the_serial_number_chooses_among_equal_boards():
    assert port_of(UNO, [ONE, TWO], "B2") == "/dev/ttyACM1"


def test_a_serial_number_is_enough_for_a_board_behind_another_adapter():
    assert port_of(UNO, [ONE, OTHER], "C3") == "/dev/ttyUSB0"


def test_equal_boards_without_a_choice_are_listed():
    refused(
        lambda: port_of(UNO, [ONE, TWO], None),
        "2 arduino-uno connected boards match /dev/ttyACM0 A1 serial number /dev/ttyACM1 B2 --serial "
        "NUMBER --port PORT",
        LineBusyError,
    )


def test_a_board_that_is_not_there_is_reported_with_the_ports_that_are():
    refused(
        lambda: port_of(UNO, [OTHER], "Z9"),
        "arduino-uno Z9 serial port serial /dev/ttyUSB0 0403:6001 C3 number --port PORT",
        LineClosedError,
    )


@pytest.mark.parametrize("name", [*FLASHERS])
def test_a_missing_program_says_where_to_get_it(name, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda _program: None)
    said = runner_named(name).missing()
    assert name == "uf2" or (said.startswith("needs ") and said.endswith(")")) or "a Zephyr tree" in said


def test_a_dry_run_needs_no_program(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda _program: None)
    board = load_board("nucleo-f446re")
    with pytest.raises(ToolError):
        choose_runner(board)
    assert choose_dry(board) == next(iter(board.runners))
    assert choose_dry(board, "openocd") == "openocd"


@pytest.mark.parametrize(
    "board", [b for b in EVERY_BOARD if "arduino-cli" in b.runners], ids=lambda b: b.name
)
def test_every_arduino_board_has_an_upload_command(board):
    (argv,) = flash_commands("arduino-cli", ELF, board, BoardSelector(port="P"))
    assert argv[3] == board.platforms["arduino"]["fqbn"]
