"""The kit on simulated silicon, on emulated boards and over a spoilt line; what it refuses."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import make_kit_models
import pytest
from kit_edits import of_notes
from simulated_silicon import CYCLES_PER_INSTRUCTION, WISHES, Bench

from aot.errors import BoardError, CheckError
from benchmarks.faulty_line import Faults, FaultyTransport
from deploy.devices.session import line_to
from deploy.silicon import kit_command
from deploy.silicon import measure_kit as measuring
from deploy.silicon.check_kit import check_kit, check_parts
from deploy.silicon.chip_words import other_chip, words_of
from deploy.silicon.kit_file import KitFile, sealed, write_kit
from deploy.silicon.kit_models import KIT, sha256_of
from deploy.silicon.kit_page import kit_page
from deploy.silicon.measure_kit import expected_outputs, measure_kit, require_no_other_board
from platforms.board_files import load_board
from platforms.transport.ports import UsbPort


@pytest.fixture
def one_model(monkeypatch):
    for name in [name for name in KIT if name != "digits"]:
        monkeypatch.delitem(KIT, name)


def measured(board: str, **more: Any) -> KitFile:
    parts = measure_kit(load_board(board), WISHES, lambda _step: None, **more)
    return sealed(Path(f"{board}.kit"), parts)


# ---- the models ----


@pytest.mark.slow
@pytest.mark.parametrize("name", KIT)
def test_the_models_and_their_outputs_are_those_that_are_pinned(name):
    model = KIT[name]
    assert sha256_of(model.path.read_bytes()) == model.sha256
    if name in make_kit_models.NETWORKS:
        assert make_kit_models.NETWORKS[name]() == model.path.read_bytes()
    assert expected_outputs("a model of the user", model.path) == model.outputs_sha256, "by the reference"


# ---- simulated silicon ----


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
def test_the_error_of_the_cycle_model_is_that_of_the_changed_times(silicon, desk):
    report = check_parts(silicon)
    assert report.is_hardware
    emulated = {model["model"]: model for model in check_parts(measured("mps2-an386")).figures["models"]}
    for model in report.figures["models"]:
        instructions = emulated[model["model"]]["instructions"]
        expected = instructions * CYCLES_PER_INSTRUCTION
        assert model["cycles"] == pytest.approx(expected, rel=0.01)
        estimate = report.estimates["models"][model["model"]]["cycles"]
        assert f"{estimate / model['cycles'] - 1:+.1%}" in kit_page(report)
        assert model["time_s"] == model["ticks"] / 25_000_000
        assert len(model["layers"]) == len(emulated[model["model"]]["layers"])
        crcs, same = (
            [layer["crc32"] for layer in each["layers"]] for each in (model, emulated[model["model"]])
        )
        assert crcs == same


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
def test_a_clock_that_does_not_fit_is_named_and_nothing_is_written(desk, monkeypatch, run_deploy):
    slow = desk.measure(Bench(speed=0.9))
    monkeypatch.setattr(kit_command, "measure_kit", lambda *_: slow.parts)
    ended = run_deploy("bench", "--kit", "--board", "silicon-m4", "--yes", "-o", desk.folder / "slow.kit")
    assert ended.status == 1
    assert "the clock does not fit: the counter ran at 22,49" in ended.err
    assert not (desk.folder / "slow.kit").exists()


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
def test_energy_follows_from_a_power_analyser(silicon, tmp_path, run_deploy):
    write_kit(replace(silicon, path=tmp_path / "b.kit"))
    rows = [f"digits,{n / 1000:.4f},{0.010 + 0.002 * (n % 2):.4f}" for n in range(101)]
    (tmp_path / "e.csv").write_text("\n".join(["model,time_s,current_a", *rows]))
    words = ("bench", "--kit", "--check", tmp_path / "b.kit", "--json")
    ended = run_deploy(*words, "--energy", tmp_path / "e.csv", "-o", tmp_path / "c.kit")
    (facts,) = json.loads(ended.out)
    time_s = facts["figures"]["models"][0]["time_s"]
    assert facts["figures"]["energy"]["digits"]["watts"] == pytest.approx(0.011 * 3.3)
    assert facts["figures"]["energy"]["digits"]["joules_per_run"] == pytest.approx(0.011 * 3.3 * time_s)
    assert check_kit(tmp_path / "c.kit").is_hardware
    rows = [f"{n / 100:.2f},{10_000 + 2_000 * (n % 2)},{n % 2}" for n in range(101)]
    (tmp_path / "digits.csv").write_text("\n".join(["Timestamp(ms),Current(uA),D0", *rows]))  # 1 ms, 3.3 V
    rows = [f"{n / 1000:.4f},0.02,5.0,0.1,0,0" for n in range(101)]
    (tmp_path / "gestures.csv").write_text("\n".join(["#time,current,voltage,power,charge,energy", *rows]))
    both = [word for name in ("digits", "gestures") for word in ("--energy", tmp_path / f"{name}.csv")]
    (facts,) = json.loads(run_deploy(*words, *both, "-o", tmp_path / "e.kit").out)
    assert facts["figures"]["energy"]["digits"]["watts"] == pytest.approx(0.011 * 3.3)
    assert facts["figures"]["energy"]["digits"]["seconds"] == pytest.approx(0.001)
    assert facts["figures"]["energy"]["gestures"]["watts"] == pytest.approx(0.02 * 5.0)
    assert check_kit(tmp_path / "e.kit").is_hardware
    for text, what in (
        ("time,amps\n0,0\n", "this is no file of a known power analyser"),
        ("#time,current\n0,\n", "a number is missing"),
        ('#time,current\n0,"1"2\n', "this is not a CSV file"),
        ("model,time_s\n", "the columns current_a are missing"),
        ("model,time_s,current_a\ndigits,0,12000", "are not the power of a board"),
        ("model,time_s,current_a\ndigits,0,0.1", "has 1 samples"),
        ("model,time_s,current_a\nkws,0,0.1", '"kws" was not measured'),
    ):
        (tmp_path / "e.csv").write_text(text)
        ended = run_deploy(*words, "--energy", tmp_path / "e.csv", "-o", tmp_path / "d.kit")
        assert what in ended.err
        assert not (tmp_path / "d.kit").exists()


@pytest.mark.parametrize("damage", ["cut", "bit", "text", "empty"])
@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
def test_a_damaged_file_is_named(damage, silicon, tmp_path, run_deploy):
    path = tmp_path / "b.kit"
    write_kit(replace(silicon, path=path))
    data = path.read_bytes()
    bit = data[:2000] + bytes([data[2000] ^ 1]) + data[2001:]
    path.write_bytes({"cut": data[:-100], "bit": bit, "text": b"hello", "empty": b""}[damage])
    ended = run_deploy("bench", "--kit", "--check", path)
    assert ended.status == 1
    assert "this is no result file of the kit, or it is damaged" in ended.err


# ---- emulated boards ----


EMULATED = {  # one board of each kind: the tools that it needs
    "host": ("gcc",),
    "mps2-an383": ("arm-none-eabi-gcc",),  # in unicorn
    "mps3-an547": ("arm-none-eabi-gcc", "qemu-system-arm"),
    "qemu-riscv32": ("riscv64-unknown-elf-gcc", "qemu-system-riscv32"),
    "arduino-mega": ("arduino-builder", "avr-gcc", "simavr", "gcc"),
}


@pytest.mark.slow
@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.cc
@pytest.mark.parametrize("board", EMULATED)
def test_an_emulated_run_is_sound_and_no_hardware(
    board, one_model, tmp_path, run_deploy, require_tool, require_package
):
    require_tool(*EMULATED[board])
    if list(load_board(board).runners) == ["unicorn"]:
        require_package("unicorn")
    ended = run_deploy("bench", "--kit", "--board", board, "--yes", "-o", tmp_path / "b.kit")
    assert "NOT HARDWARE: " in ended.out, ended.err
    ended = run_deploy("bench", "--kit", "--check", tmp_path / "b.kit", "--layers")
    assert ended.status == 0
    assert "is sound: " in ended.out
    assert "NOT HARDWARE, so it says nothing about a board" in ended.out


def test_a_board_whose_clock_stands_still_is_refused_before_anything_is_built():
    with pytest.raises(BoardError, match="its clock stands still while code runs"):
        measured("qemu-microbit")


@pytest.mark.cc
@pytest.mark.slow
def test_models_of_the_user_are_measured_in_addition(one_model, shared_dir, tmp_path, run_deploy):
    """MLPerf Tiny's own file, for example."""
    model = shared_dir / "models" / "tiny_kws_dscnn_int8" / "model.tflite"
    path = tmp_path / "b.kit"
    ended = run_deploy("bench", "--kit", "--board", "host", "--yes", model, "-o", path, "--json")
    (facts,) = json.loads(ended.out)
    assert [each["model"] for each in facts["figures"]["models"]] == ["digits", "tiny_kws_dscnn_int8"]
    assert facts["not_compared"] == []
    (facts,) = json.loads(run_deploy("bench", "--kit", "--check", path, "--json").out)
    assert facts["problems"] == []
    assert facts["not_compared"] == ["the outputs of tiny_kws_dscnn_int8: give its file, too"]
    other = shared_dir / "models" / "tiny_ad_fc_int8" / "model.tflite"
    wrong = tmp_path / "tiny_kws_dscnn_int8.tflite"
    wrong.write_bytes(other.read_bytes())
    ended = run_deploy("bench", "--kit", "--check", path, wrong)
    assert "tiny_kws_dscnn_int8 is another file than here" in ended.err


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
def test_an_emulated_run_does_not_become_hardware(desk, one_model):
    """Even if its notes are changed to those of a board on a USB port, and everything is derived again."""
    kit = measured("mps2-an386")

    def pretend(note: Any) -> Any:
        if "firmware" in note:
            usb = {"vid": 0x0483, "pid": 0x374B, "serial": "1"}
            note["firmware"]["line"] = {"name": "/dev/ttyACM0", "is_program": False, "usb": usb}
        if "measurement" in note:
            note["measurement"]["board"]["counter"]["instruction_ns"] = None
        return note

    report = check_parts(sealed(kit.path, of_notes(pretend)(kit.parts)))
    assert report.figures["not_hardware"] == ["the firmware is made for an emulator"]
    assert not report.is_hardware
    problems = "\n".join(report.problems)
    assert "mps2-an386 has counter" in problems
    assert "the clock does not fit" in problems


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
def test_a_spoilt_line_costs_repetitions_and_no_figure(desk, one_model):
    plain = check_parts(measured("mps2-an386"))
    seeds = iter(range(10))

    def spoilt(ready: Any, options: Any) -> Any:
        line = line_to(ready, options)
        line.reaches_memory = False
        return FaultyTransport(line, Faults(flipped_bits=0.0002, dropped=0.0005), next(seeds))

    report = check_parts(measured("mps2-an386", open_line=spoilt))
    assert report.problems == ()
    assert report.figures["line"]["damaged_frames"] > 0
    for spoilt_run, run in zip(*(each.figures["models"][0]["runs"] for each in (report, plain)), strict=True):
        assert abs(spoilt_run - run) <= 3  # ticks, of a seventh of an instruction each


# ---- the wrong board, wrong outputs, nothing asked ----


def test_another_core_or_chip_is_named():
    board = load_board("nucleo-f446re")
    fine = {"cpuid": 0x410FC241, "chip": 0x10006421}
    assert not list(other_chip(board, fine))
    (text,) = other_chip(board, fine | {"cpuid": 0x411FC272})
    assert text == "its core has the part number 0xC27, a cortex-m4 has 0xC24"
    (text,) = other_chip(board, fine | {"chip": 0x10006433})
    assert text == "its chip has the number 0x433, a STM32F446 has 0x421"
    assert list(words_of(board, "baremetal").names) == ["cpuid", "chip", "serial 0", "serial 1", "serial 2"]
    emulated = load_board("qemu-netduinoplus2")  # with the files of a real chip, whose words it lacks
    assert list(words_of(emulated, "baremetal").names) == ["cpuid"]
    assert words_of(board, "arduino").names == ()


def test_another_board_at_the_port_is_named(monkeypatch):
    pico = next(usb for usb in load_board("rpi-pico").usb if usb.role == "application")
    monkeypatch.setattr(measuring, "usb_ports", lambda: (UsbPort("/dev/ttyACM0", pico.vid, pico.pid, ""),))
    with pytest.raises(BoardError, match="another board is at /dev/ttyACM0"):
        require_no_other_board(load_board("nucleo-f446re"), "/dev/ttyACM0")
    require_no_other_board(load_board("rpi-pico"), "/dev/ttyACM0")


@pytest.mark.cc
@pytest.mark.slow
def test_wrong_outputs_end_the_measurement(one_model, monkeypatch):
    monkeypatch.setattr(measuring, "expected_outputs", lambda *_: "0" * 64)
    with pytest.raises(CheckError, match="the outputs of digits are wrong on this board"):
        measured("host")


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("--board", "host"), "the room temperature in degrees Celsius is not given"),
        (("--board", "host", "mps2-an386", "--yes"), "the kit measures one board"),
        (("--board", "host", "--yes", "--optimize", "ram"), "the kit compiles with the default options"),
        (("--board", "host", "--yes", "-o", "a.zip"), "result files end in .kit"),
        (("--check",), "no result file is given"),
        (("--check", "none.kit"), "the result file cannot be read"),
        (("a.kit", "--board", "host", "--yes"), "a result file is checked"),
    ],
)
def test_what_is_missing_is_named(words, what, run_deploy, monkeypatch):
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    ended = run_deploy("bench", "--kit", *words)
    assert ended.status == 1
    assert what in ended.err


def test_options_of_the_kit_need_the_kit(run_deploy):
    ended = run_deploy("bench", "a.tflite", "--board", "host", "--supply", "3.3")
    assert "--supply belongs to the kit" in ended.err
