"""Boards' timings and flash as files say them, and what the model then says of itself."""

from dataclasses import replace

import pytest
from every_board import EVERY_BOARD

from aot.errors import BoardError
from boards.cores import core_names, load_core
from platforms.board_files import load_board
from platforms.cycles.model import described, flash_of, lacks, lacks_program
from platforms.cycles.stand_in import stand_in


def test_the_cores_that_have_a_table_say_where_it_is_from():
    cores = [load_core(name) for name in core_names()]
    assert [core.name for core in cores if core.timing] == [
        *("cortex-m0plus", "cortex-m3", "cortex-m33", "cortex-m4")
    ]
    assert [core.name for core in cores if core.pipeline] == [
        *("cortex-m55", "cortex-m7", "cortex-m85", "esp32-c3", "hazard3")
    ]
    assert all(known.sources for core in cores for known in (core.timing, core.pipeline) if known)


MODELLED = [b for b in EVERY_BOARD if b.core.unicorn and (b.core.timing or b.core.pipeline)]


@pytest.mark.parametrize("board", MODELLED, ids=lambda board: board.name)
def test_each_board_of_these_cores_can_be_stood_in_for(board, require_package):
    require_package("unicorn", "capstone")
    assert lacks(board) == ""
    emulated = stand_in(board)
    assert (emulated.core, emulated.regions, emulated.clock_hz) == (board.core, board.regions, board.clock_hz)
    assert "unicorn" in emulated.runners
    assert emulated.counter.instruction_ns is not None
    assert emulated.uart is not None
    places = (emulated.uart.address, emulated.counter.address or 0)
    taken = [range(region.origin, region.origin + region.bytes) for region in emulated.regions]
    assert not any(place in region for place in places for region in taken)


def test_a_board_says_what_its_model_knows():
    board = load_board("nucleo-l4r5zi")
    assert described(board).startswith(
        "a model of cortex-m4 at 80 MHz and flash of 3 wait states; off by 5 % on average, 9 % at most "
        "(4 in-sample points: "
    )
    assert flash_of(replace(board, clock_hz=16_000_000)) is None
    never = "a model of cortex-m4 at 16 MHz and memory without wait states; not compared with silicon"
    assert described(replace(board, clock_hz=16_000_000)) == never
    assert described(replace(load_board("mps2-an386"), clock_hz=16_000_000)) == never


def test_without_a_table_of_its_flash_times_are_a_lower_bound():
    assert described(load_board("nrf52840dk")) == (
        "a model of cortex-m4 at 64 MHz and flash with unknown wait states, assumed to be 0, so times are a "
        "lower bound; not compared with silicon"
    )


def test_a_wrong_kind_of_instruction_in_a_core_is_named(tmp_path, monkeypatch):
    folder = tmp_path / "boards" / "core"
    folder.mkdir(parents=True)
    text = '\n[timing]\nsources = ["x"]\n[timing.cycles]\nlaod = 2\n'
    (folder / "mine.toml").write_text('machine = "arm"\npointer_bytes = 4\n' + text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BoardError, match='key "laod" is not known - did you mean "load"'):
        load_core("mine")


@pytest.mark.parametrize(
    ("name", "platform", "why"),
    [
        ("mps2-an385", "baremetal", ""),
        ("mps2-an385", "zephyr", "no emulator runs firmware of the platform zephyr for a mps2-an385"),
        (
            "qemu-cortex-m3",
            "zephyr",
            "no emulator runs firmware of the platform zephyr for a qemu-cortex-m3",
        ),
        ("qemu-riscv32", "baremetal", "there is no table of instruction cycles for a rv32imac"),
    ],
)
def test_a_program_whose_cycles_are_not_told_is_explained(name, platform, why, require_package):
    require_package("unicorn", "capstone")
    assert lacks_program(platform, load_board(name)) == why


def test_a_core_that_qemu_alone_emulates_is_recorded_there(require_tool, require_capstone_of_helium):
    require_tool("qemu-system-arm")
    board = load_board("mps3-an547")
    assert lacks(board) == ""
    assert stand_in(board) is board


def test_a_board_whose_core_qemu_alone_executes_is_stood_in_for_by_one_of_qemus(
    require_tool, require_capstone_of_helium
):
    require_tool("qemu-system-arm", "qemu-system-riscv32")
    for name, qemus in (("ek-ra8m1", "mps3-an547"), ("rpi-pico2-riscv", "qemu-riscv32")):
        board, other = load_board(name), load_board(qemus)
        assert lacks(board) == ""
        emulated = stand_in(board)
        assert (emulated.core, emulated.clock_hz) == (board.core, board.clock_hz)
        assert (emulated.regions, emulated.uart, emulated.runners) == (
            other.regions,
            other.uart,
            other.runners,
        )


def test_a_core_that_nothing_executes_has_no_model(require_package):
    require_package("unicorn", "capstone")
    board = load_board("feather-s2")
    core = replace(board.core, pipeline=load_core("hazard3").pipeline)
    assert lacks(replace(board, core=core)) == "neither unicorn nor QEMU emulates a feather-s2"


def test_an_old_disassembler_knows_no_helium(monkeypatch, require_tool, require_package):
    require_tool("qemu-system-arm")
    require_package("unicorn", "capstone")
    monkeypatch.setattr("platforms.cycles.model.version", lambda _name: "5.0.7")
    assert lacks(load_board("mps2-an386")) == ""
    assert lacks(load_board("mps3-an547")) == (
        "needs capstone 6, which knows Helium (pip install 'solder-mcu[cycles]')"
    )
    monkeypatch.setattr("platforms.runners.qemu_riscv32.missing", lambda: "")
    assert lacks(load_board("rpi-pico2-riscv")) == (
        "needs capstone 6, which knows RISC-V's extensions (pip install 'solder-mcu[cycles]')"
    )
