"""Reading board files: strict about keys and facts, and every message names the way out."""

import re
from pathlib import Path

import pytest
from error_facts import refused, require_facts

from aot.errors import BoardError
from boards.board import BoardStatus
from boards.load import board_names
from platforms.board_files import all_boards, broken_boards, load_board

BOARD = """\
title = "A board"
mcu = "X1"
core = "cortex-m4"
features = ["dsp", "fpu"]
clock_hz = 1000
status = "data-only"
reason = "none is at hand"
sources = ["a data sheet"]

[[regions]]
name = "FLASH"
origin = 0
bytes = 0x1000
role = "flash"

[[regions]]
name = "RAM"
origin = 0x2000
bytes = 0x1000
role = "ram"

[uart]
driver = "cmsdk"
address = 0x4000
clock_hz = 1000
baud = 100

[counter]
driver = "register"
address = 0x5000
hz = 1000
bits = 32
instruction_ns = 8

[platforms.baremetal]

[runners.qemu]
machine = "x"

[runners.unicorn]
"""


OPTIONAL = ("title", "features", "status", "reason", "sources")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder, with an empty folder for boards; the user's own settings are out of the way."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("APPDATA", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "boards").mkdir()
    return tmp_path


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", [name for name in board_names() if "qemu" in load_board(name).runners])
def test_a_board_in_qemu_counts_its_instructions_and_not_the_time_of_the_machine(name):
    counter = load_board(name).counter
    assert counter.instruction_ns is not None or counter.driver == "still"  # which tells no time at all


def test_a_board_in_the_working_folder_is_found_by_name(folder):
    write(folder / "boards/mine.toml", BOARD)
    assert load_board("mine").title == "A board"
    assert "mine" in board_names()


def test_a_board_in_the_config_folder_is_found_by_name(folder):
    write(folder / "config/solder/boards/kept.toml", BOARD)
    assert load_board("kept").name == "kept"


def test_a_board_file_is_read_from_its_path(folder):
    file = write(folder / "elsewhere/mine.toml", BOARD)
    assert load_board(str(file)).name == "mine"


def test_a_users_board_goes_before_ours_of_the_same_name(folder):
    write(folder / "boards/mps2-an386.toml", BOARD)
    assert load_board("mps2-an386").title == "A board"


def test_the_boards_own_keys_go_before_its_socs(folder):
    write(folder / "boards/soc/x1.toml", 'mcu = "X1"\nclock_hz = 5\n')
    file = write(folder / "boards/mine.toml", BOARD.replace('mcu = "X1"', 'soc = "x1"'))
    board = load_board(str(file))
    assert (board.mcu, board.clock_hz) == ("X1", 1000)


def test_a_board_may_use_one_of_our_socs(folder):
    head = BOARD.partition("[[regions]]")[0].replace("clock_hz = 1000\n", "")
    tail = BOARD[BOARD.index("[platforms") :]
    file = write(folder / "boards/mine.toml", f'{head}soc = "mps2-cm"\n{tail}')
    assert load_board(str(file)).clock_hz == 25_000_000


def test_an_unknown_board_is_named_with_the_nearest_one(folder):
    hints = "deploy boards list boards/mps2-an368.toml, --board FILE.toml"
    refused(lambda: load_board("mps2-an368"), f'"mps2-an368" "mps2-an386"? {hints}', BoardError)


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("nucleo_f746zg", "nucleo-f746zg"),
        ("NUCLEO-H743ZI2", "nucleo-h743zi"),
        ("nrf52840dk_nrf52840", "nrf52840dk"),
        ("nrf5340dk_nrf5340_cpuapp", "nrf5340dk"),
        ("xiao_ble", "xiao-nrf52840"),
        ("nano33ble", "nano-33-ble"),
        ("envie_m7", "portenta-h7"),
        ("mps2_an386", "mps2-an386"),
    ],
)
def test_a_board_in_the_spelling_of_zephyr_or_arduino_is_understood(folder, asked, meant):
    refused(lambda: load_board(asked), f'"{asked}" "{meant}"?', BoardError)


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("uno r4", ["uno-r4-wifi", "uno-r4-minima"]),
        ("f407", ["stm32f4-disco"]),
        ("stm32f407", ["stm32f4-disco"]),
        ("pico2", ["rpi-pico2", "rpi-pico2-w", "rpi-pico2-riscv"]),
        ("esp32 s3", ["esp32-s3-devkitc-1", "xiao-esp32s3", "feather-esp32s3"]),
        ("esp32-s3", ["esp32-s3-devkitc-1", "xiao-esp32s3", "feather-esp32s3"]),
        ("samd51", ["pybadge", "metro-m4", "wio-terminal"]),
        ("Raspberry Pi Pico", ["rpi-pico", "rpi-pico2", "rpi-pico-w"]),
        ("microbit", ["microbit-v2", "qemu-microbit"]),
        ("blue pill", ["bluepill-f103c8"]),
        ("m4", []),
        ("nothing like it", []),
    ],
)
def test_a_board_is_found_by_its_chip_core_title_and_nickname(folder, asked, meant):
    with pytest.raises(BoardError) as caught:
        load_board(asked)
    _, _, suggested = caught.value.what.partition("did you mean ")
    assert re.findall('"([^"]+)"', suggested) == meant


def test_a_core_suggests_boards_that_have_it(folder):
    with pytest.raises(BoardError) as caught:
        load_board("cortex-m55")
    suggested = re.findall('"([^"]+)"', caught.value.what)[1:]
    assert len(suggested) == 3
    assert {load_board(name).core.name for name in suggested} == {"cortex-m55"}


@pytest.mark.parametrize("text", ["core = ", 'core = "cortex-m4"\nmcu = 3\n', "\xff"])
def test_one_broken_file_is_reported_and_harms_no_other_board(folder, text):
    path = write(folder / "boards" / "broken.toml", "")
    path.write_bytes(text.encode("latin-1"))
    names = [board.name for board in all_boards()]
    assert "mps2-an386" in names
    assert "broken" not in names
    (error,) = broken_boards()
    assert error.where.startswith("boards/broken.toml")
    with pytest.raises(BoardError) as caught:
        load_board("mps2-an368")
    require_facts(caught.value.what, '"mps2-an368" "mps2-an386"?')
    assert caught.value.hint.splitlines()[-1].startswith("ignored: boards/broken.toml: ")
    with pytest.raises(BoardError):
        load_board("broken")


HEAD, _, _ = BOARD.partition("[uart]")
LEAST = "".join(line for line in HEAD.splitlines(True) if line.split(" ")[0] not in OPTIONAL)


def test_a_board_to_compile_for_is_a_chip_and_its_memory(folder):
    write(folder / "boards/least.toml", LEAST)
    board = load_board("least")
    assert (board.title, board.status, board.sources) == ("least", BoardStatus.DATA_ONLY, ())
    refused(lambda: board.counter, "least [counter], run firmware deploy docs adding-a-board", BoardError)


CURRENT = (
    "run_current = {{ microamps_per_mhz = {}, volts = 3, conditions = 'at 1 MHz', source = 'a datasheet' }}"
)
KEYS = " known keys: title, regions, uart, platforms, runners"
PAGE = " deploy docs adding-a-board"
# A change of the file, and the facts of the error that it gives: keys, values, tables, and what is known.
MISTAKES = {
    "an unknown key": (
        ("clock_hz = 1000\nstatus", "clok_hz = 1000\nstatus"),
        '"clok_hz" "clock_hz"? boards/mine.toml' + KEYS,
    ),
    "many unknown keys of a table": (
        ("clock_hz = 1000\nstatus", "clok_hz = 1000\ncpu = 1\nstatus"),
        '2 keys "clok_hz" "clock_hz"? "cpu" "mcu"?' + KEYS,
    ),
    "unknown keys of several tables": (
        ('machine = "x"\n\n[runners.unicorn]', 'machina = "x"\n\n[runners.unicorn]\ncpu = 1'),
        '2 keys [runners.qemu]: "machina" "machine"? [runners.unicorn]: "cpu" keys: machine keys: none',
    ),
    "a current that is none": (
        ("clock_hz = 1000\nstatus", f"clock_hz = 1000\n{CURRENT.format(0)}\nstatus"),
        '"microamps_per_mhz" 0 [run_current]',
    ),
    "a current without a source": (
        (
            "clock_hz = 1000\nstatus",
            f"clock_hz = 1000\n{CURRENT.format(9).replace('source', 'title')}\nstatus",
        ),
        '"title" [run_current] microamps_per_mhz, volts, conditions, source',
    ),
    "a missing key": (('mcu = "X1"\n', ""), '"mcu" missing' + PAGE),
    "many missing keys, in several tables": (
        ('clock_hz = 1000\nstatus = "data-only"\nreason', "usb = [{ vid = 1 }, { pid = 1 }]\nreason"),
        "5 keys missing toml: clock_hz [usb]: pid, role vid, role" + PAGE,
    ),
    "a UART that no driver of ours drives": (
        ('driver = "cmsdk"', 'driver = "pl011"'),
        'baremetal [uart] (cmsdk, ns16550), "pl011"',
    ),
    "several things that platforms and runners need": (
        ('driver = "register"', 'driver = "dwt"'),
        '2 things baremetal [counter] driver = "register" unicorn instruction_ns',
    ),
    "a platform that knows no such core": (
        ('core = "cortex-m4"\nfeatures = ["dsp", "fpu"]', 'core = "xtensa-lx7"'),
        "2 things baremetal (arm, riscv), xtensa-lx7 unicorn emulates,",
    ),
    "a flasher without its platform": (
        ("[runners.qemu]\nmachine", "[runners.west]\nrunner"),
        "runner west [platforms.zephyr]",
    ),
    "an unknown key in a table": (
        ("baud = 100", "bauds = 100"),
        '"bauds" "baud"? [uart] keys: driver, address, clock_hz, baud',
    ),
    "a text for a number": (("hz = 1000\nbits", 'hz = "fast"\nbits'), "\"hz\" integer 1, 'fast' [counter]"),
    "an unknown core": (("cortex-m4", "cortex-m44"), 'core "cortex-m44" "cortex-m4"? known: avr, xtensa-lx7'),
    "a foreign feature": (('"fpu"]', '"mve"]'), "cortex-m4 no mve"),
    "an unknown feature": (('"fpu"]', '"fpuu"]'), 'features "fpuu" "fpu"? known: dsp, mve, fpu, zve32x'),
    "an unknown runner": (
        ("[runners.qemu]", "[runners.qemuu]"),
        'runner "qemuu" "qemu"? [runners] known: exec, qemu, uf2',
    ),
    "overlapping regions": (("origin = 0x2000", "origin = 0xf00"), "FLASH RAM overlap: 0x1000, 0xf00"),
    "no RAM": (('role = "ram"', 'role = "flash"'), 'no region role = "ram"'),
    "a register without an address": (
        ("address = 0x5000\n", ""),
        'counter driver = "register" needs "address" [counter]',
    ),
    "instruction_ns that QEMU cannot do": (
        ("instruction_ns = 8", "instruction_ns = 1000"),
        '"instruction_ns" power of two, 1000 [counter]',
    ),
    "a USB id of more than 16 bits": (
        ("[platforms.baremetal]", '[[usb]]\nvid = 0x10000\npid = 1\nrole = "probe"\n[platforms.baremetal]'),
        '"vid" 16 bits, 65536 [usb]',
    ),
    "a Zephyr board with a hyphen": (
        ("[platforms.baremetal]", '[platforms.zephyr]\nboard = "nucleo-f746zg"'),
        "\"board\" mps2/an385, 'nucleo-f746zg' [platforms.zephyr]",
    ),
    "an FQBN of two parts": (
        ("[platforms.baremetal]", '[platforms.arduino]\nfqbn = "avr:uno"'),
        "\"fqbn\" package:architecture:board, 'avr:uno' [platforms.arduino]",
    ),
    "an unknown soc": (
        ('mcu = "X1"', 'mcu = "X1"\nsoc = "mps2-cn"'),
        'soc "mps2-cn" "mps2-cm"? known: rp2040,',
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_a_board_file_is_reported(folder, name):
    change, facts = MISTAKES[name]
    assert change[0] in BOARD
    write(folder / "boards/mine.toml", BOARD.replace(*change))
    refused(lambda: load_board("mine"), f"mine.toml {facts}", BoardError)


def test_a_file_that_is_not_toml_is_reported(folder):
    write(folder / "boards/mine.toml", "title = \n")
    with pytest.raises(BoardError, match="not a TOML file: Invalid value"):
        load_board("mine")


def test_a_number_of_thousands_of_digits_is_reported(folder):
    write(folder / "boards/mine.toml", f"clock = {'1' * 6000}\n")
    with pytest.raises(BoardError, match="not a TOML file: Exceeds the limit"):
        load_board("mine")


def test_a_missing_board_file_is_reported(folder):
    with pytest.raises(BoardError, match="board file cannot be read: No such file"):
        load_board("nowhere/mine.toml")
