"""Reading board files: strict about keys and facts, and every message names the way out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

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


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
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
def test_a_board_in_qemu_counts_its_instructions_and_not_the_time_of_the_machine(name: str) -> None:
    counter = load_board(name).counter
    assert counter.instruction_ns is not None or counter.driver == "still"  # which tells no time at all


def test_a_board_in_the_working_folder_is_found_by_name(folder: Path) -> None:
    write(folder / "boards/mine.toml", BOARD)
    assert load_board("mine").title == "A board"
    assert "mine" in board_names()


def test_a_board_in_the_config_folder_is_found_by_name(folder: Path) -> None:
    write(folder / "config/solder/boards/kept.toml", BOARD)
    assert load_board("kept").name == "kept"


def test_a_board_file_is_read_from_its_path(folder: Path) -> None:
    file = write(folder / "elsewhere/mine.toml", BOARD)
    assert load_board(str(file)).name == "mine"


def test_a_users_board_goes_before_ours_of_the_same_name(folder: Path) -> None:
    write(folder / "boards/mps2-an386.toml", BOARD)
    assert load_board("mps2-an386").title == "A board"


def test_the_boards_own_keys_go_before_its_socs(folder: Path) -> None:
    write(folder / "boards/soc/x1.toml", 'mcu = "X1"\nclock_hz = 5\n')
    file = write(folder / "boards/mine.toml", BOARD.replace('mcu = "X1"', 'soc = "x1"'))
    board = load_board(str(file))
    assert (board.mcu, board.clock_hz) == ("X1", 1000)


def test_a_board_may_use_one_of_our_socs(folder: Path) -> None:
    head = BOARD.partition("[[regions]]")[0].replace("clock_hz = 1000\n", "")
    tail = BOARD[BOARD.index("[platforms") :]
    file = write(folder / "boards/mine.toml", f'{head}soc = "mps2-cm"\n{tail}')
    assert load_board(str(file)).clock_hz == 25_000_000


def test_an_unknown_board_is_named_with_the_nearest_one(folder: Path) -> None:
    with pytest.raises(BoardError) as caught:
        load_board("mps2-an368")
    assert str(caught.value) == (
        'error: board "mps2-an368" not found - did you mean "mps2-an386"?\n'
        "  hint: list them with: deploy boards list\n"
        "        for your own board: boards/mps2-an368.toml, or --board FILE.toml"
    )


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
def test_a_board_in_the_spelling_of_zephyr_or_arduino_is_understood(
    folder: Path, asked: str, meant: str
) -> None:
    with pytest.raises(BoardError) as caught:
        load_board(asked)
    assert caught.value.what == f'board "{asked}" not found - did you mean "{meant}"?'


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
def test_a_board_is_found_by_its_chip_core_title_and_nickname(
    folder: Path, asked: str, meant: list[str]
) -> None:
    with pytest.raises(BoardError) as caught:
        load_board(asked)
    _, _, suggested = caught.value.what.partition("did you mean ")
    assert re.findall('"([^"]+)"', suggested) == meant


def test_a_core_suggests_boards_that_have_it(folder: Path) -> None:
    with pytest.raises(BoardError) as caught:
        load_board("cortex-m55")
    suggested = re.findall('"([^"]+)"', caught.value.what)[1:]
    assert len(suggested) == 3
    assert {load_board(name).core.name for name in suggested} == {"cortex-m55"}


@pytest.mark.parametrize("text", ["core = ", 'core = "cortex-m4"\nmcu = 3\n', "\xff"])
def test_one_broken_file_is_reported_and_harms_no_other_board(folder: Path, text: str) -> None:
    path = write(folder / "boards" / "broken.toml", "")
    path.write_bytes(text.encode("latin-1"))
    names = [board.name for board in all_boards()]
    assert "mps2-an386" in names
    assert "broken" not in names
    (error,) = broken_boards()
    assert error.where.startswith("boards/broken.toml")
    with pytest.raises(BoardError) as caught:
        load_board("mps2-an368")
    assert caught.value.what == 'board "mps2-an368" not found - did you mean "mps2-an386"?'
    assert caught.value.hint.splitlines()[-1].startswith("ignored: boards/broken.toml: ")
    with pytest.raises(BoardError):
        load_board("broken")


LEAST = """\
mcu = "X1"
core = "cortex-m4"
clock_hz = 1000

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
"""


def test_a_board_to_compile_for_is_a_chip_and_its_memory(folder: Path) -> None:
    write(folder / "boards/least.toml", LEAST)
    board = load_board("least")
    assert (board.title, board.status, board.sources) == ("least", BoardStatus.DATA_ONLY, ())
    with pytest.raises(BoardError) as caught:
        _ = board.counter
    assert str(caught.value) == (
        "error: least has no table [counter], which is needed to run firmware\n"
        "  hint: deploy docs adding-a-board lists every key"
    )


MISTAKES = (
    (
        "an unknown key",
        ("clock_hz = 1000\nstatus", "clok_hz = 1000\nstatus"),
        'error: key "clok_hz" is not known - did you mean "clock_hz"?\n  FILE\n'
        "  hint: known keys: title, mcu, core, features, clock_hz, regions, flash_access, uart, counter, "
        "console, second_core, usb, flash_algorithm, status, reason, sources, accelerators, platforms, "
        "runners",
    ),
    (
        "many unknown keys of a table",
        ("clock_hz = 1000\nstatus", "clok_hz = 1000\ncpu = 1\nstatus"),
        'error: 2 keys are not known\n  FILE: "clok_hz" - did you mean "clock_hz"?\n'
        '  FILE: "cpu" - did you mean "mcu"?\n'
        "  hint: known keys: title, mcu, core, features, clock_hz, regions, flash_access, uart, counter, "
        "console, second_core, usb, flash_algorithm, status, reason, sources, accelerators, platforms, "
        "runners",
    ),
    (
        "unknown keys of several tables",
        ('machine = "x"\n\n[runners.unicorn]', 'machina = "x"\n\n[runners.unicorn]\ncpu = 1'),
        'error: 2 keys are not known\n  FILE, in [runners.qemu]: "machina" - did you mean "machine"?\n'
        '  FILE, in [runners.unicorn]: "cpu"\n'
        "  hint: FILE, in [runners.qemu]: known keys: machine\n"
        "        FILE, in [runners.unicorn]: known keys: none",
    ),
    (
        "a missing key",
        ('mcu = "X1"\n', ""),
        'error: key "mcu" is missing\n  FILE\n  hint: deploy docs adding-a-board lists every key',
    ),
    (
        "many missing keys, in several tables",
        ('clock_hz = 1000\nstatus = "data-only"\nreason', "usb = [{ vid = 1 }, { pid = 1 }]\nreason"),
        "error: 5 keys are missing\n  FILE: clock_hz\n"
        "  FILE, in [usb]: pid, role\n  FILE, in [usb]: vid, role\n"
        "  hint: deploy docs adding-a-board lists every key",
    ),
    (
        "a key of a runner that has none of that name",
        ('machine = "x"', 'machina = "x"'),
        'error: key "machina" is not known - did you mean "machine"?\n  FILE, in [runners.qemu]\n'
        "  hint: known keys: machine",
    ),
    (
        "a UART that no driver of ours drives",
        ('driver = "cmsdk"', 'driver = "pl011"'),
        "error: the platform baremetal needs a [uart] with a supported driver (cmsdk, ns16550), "
        'not "pl011"\n  FILE',
    ),
    (
        "several things that platforms and runners need",
        ('driver = "register"', 'driver = "dwt"'),
        "error: 2 things are missing\n  FILE\n"
        '  the platform baremetal needs a [counter] with driver = "register"\n'
        '  the runner unicorn needs a [counter] with driver = "register" and instruction_ns',
    ),
    (
        "a platform that knows no such core",
        ('core = "cortex-m4"\nfeatures = ["dsp", "fpu"]', 'core = "xtensa-lx7"'),
        "error: 2 things are missing\n  FILE\n"
        "  the platform baremetal needs a core of a supported architecture (arm, riscv), not xtensa-lx7\n"
        "  the runner unicorn needs a core that the unicorn package emulates, not xtensa-lx7",
    ),
    (
        "a flasher without its platform",
        ("[runners.qemu]\nmachine", "[runners.west]\nrunner"),
        "error: the runner west needs a table [platforms.zephyr]\n  FILE",
    ),
    (
        "an unknown key in a table",
        ("baud = 100", "bauds = 100"),
        'error: key "bauds" is not known - did you mean "baud"?\n  FILE, in [uart]\n'
        "  hint: known keys: driver, address, clock_hz, baud",
    ),
    (
        "a text for a number",
        ("hz = 1000\nbits", 'hz = "fast"\nbits'),
        "error: \"hz\" must be an integer of at least 1, not 'fast'\n  FILE, in [counter]",
    ),
    (
        "an unknown core",
        ("cortex-m4", "cortex-m44"),
        'error: core "cortex-m44" is not known - did you mean "cortex-m4"?\n  FILE\n'
        "  hint: known: avr, cortex-m0, cortex-m0plus, cortex-m23, cortex-m3, cortex-m33, cortex-m4, "
        "cortex-m55, cortex-m7, cortex-m85, esp32-c3, hazard3, host, rv32imac, rv32imac-zve32x, "
        "rv32imafc, rv64imafdc, "
        "xtensa-lx6, xtensa-lx7",
    ),
    ("a foreign feature", ('"fpu"]', '"mve"]'), "error: a cortex-m4 has no mve\n  FILE"),
    (
        "an unknown feature",
        ('"fpu"]', '"fpuu"]'),
        'error: features "fpuu" is not known - did you mean "fpu"?\n  FILE\n'
        "  hint: known: dsp, mve, fpu, unaligned, zve32x",
    ),
    (
        "an unknown runner",
        ("[runners.qemu]", "[runners.qemuu]"),
        'error: runner "qemuu" is not known - did you mean "qemu"?\n  FILE, in [runners]\n'
        "  hint: known: exec, qemu, qemu-riscv32, unicorn, simavr, native-sim, west, pyocd, openocd, "
        "arduino-cli, avrdude, esptool, picotool, uf2",
    ),
    (
        "overlapping regions",
        ("origin = 0x2000", "origin = 0xf00"),
        "error: regions FLASH and RAM overlap: FLASH ends at 0x1000, RAM starts at 0xf00\n  FILE",
    ),
    ("no RAM", ('role = "ram"', 'role = "flash"'), 'error: no region has role = "ram"\n  FILE'),
    (
        "a register without an address",
        ("address = 0x5000\n", ""),
        'error: a counter with driver = "register" needs "address"\n  FILE, in [counter]',
    ),
    (
        "instruction_ns that QEMU cannot do",
        ("instruction_ns = 8", "instruction_ns = 1000"),
        'error: "instruction_ns" must be a power of two, not 1000\n  FILE, in [counter]',
    ),
    (
        "a USB id of more than 16 bits",
        ("[platforms.baremetal]", '[[usb]]\nvid = 0x10000\npid = 1\nrole = "probe"\n[platforms.baremetal]'),
        'error: "vid" must be a number of 16 bits, not 65536\n  FILE, in [usb]',
    ),
    (
        "a Zephyr board with a hyphen",
        ("[platforms.baremetal]", '[platforms.zephyr]\nboard = "nucleo-f746zg"'),
        "error: \"board\" must be a Zephyr board such as mps2/an385, not 'nucleo-f746zg'\n"
        "  FILE, in [platforms.zephyr]",
    ),
    (
        "an FQBN of two parts",
        ("[platforms.baremetal]", '[platforms.arduino]\nfqbn = "avr:uno"'),
        "error: \"fqbn\" must be package:architecture:board, not 'avr:uno'\n  FILE, in [platforms.arduino]",
    ),
    (
        "an unknown soc",
        ('mcu = "X1"', 'mcu = "X1"\nsoc = "mps2-cn"'),
        'error: soc "mps2-cn" not found - did you mean "mps2-cm"?\n  FILE\n'
        "  hint: known: mimxrt1062, mps2-cm, nrf52840, ra4m1, rp2040, samd51, stm32f746, stm32u5",
    ),
)


@pytest.mark.parametrize(("change", "message"), [m[1:] for m in MISTAKES], ids=[m[0] for m in MISTAKES])
def test_a_mistake_in_a_board_file_is_reported(folder: Path, change: tuple[str, str], message: str) -> None:
    assert change[0] in BOARD
    file = write(folder / "boards/mine.toml", BOARD.replace(*change))
    with pytest.raises(BoardError) as caught:
        load_board("mine")
    assert str(caught.value).replace(str(file.relative_to(folder)), "FILE") == message


def test_a_file_that_is_not_toml_is_reported(folder: Path) -> None:
    write(folder / "boards/mine.toml", "title = \n")
    with pytest.raises(BoardError, match="not a TOML file: Invalid value"):
        load_board("mine")


def test_a_missing_board_file_is_reported(folder: Path) -> None:
    with pytest.raises(BoardError, match="board file cannot be read: No such file"):
        load_board("nowhere/mine.toml")
