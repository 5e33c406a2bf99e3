"""Commands that only look: inspect, boards, doctor."""

import json
import os
import pstats
import re
import subprocess
import sys
from typing import Any

import pytest

from aot.plan import place
from boards.files import read_toml
from codegen.fit.layer_cycles import RunCycles
from codegen.fit.variant import forget_plans
from deploy.host_tools.tool_inventory import PACKAGES
from deploy.inspection.inspect_page import time_lines
from platforms.runners.runner import runner_named
from platforms.transport.ports import UsbPort

INSPECT_CALLS = 3_000_000  # in a process that takes a second of one processor


def test_inspect_says_what_is_in_a_model_and_that_it_fits(model, run_deploy):
    out = run_deploy("inspect", model, "--board", "mps2-an386", "--layers", "--memory").out
    for said in (
        'input      "image" int8[1, 8, 8, 1], scale 0.0625, zero point -128',
        "bytes of RAM (0.1 %): fits",
        "bytes of FLASH (0.2 %): fits",
        "stack, estimated",
        "constants",
        "code, estimated",
        "bytes in use at layer",
        'CONV_2D #0 "',
        "* peak of memory",
        "all together",
    ):
        assert said in out


def test_without_a_board_inspect_says_what_is_needed_of_ram_and_flash(model, run_deploy):
    facts = json.loads(run_deploy("inspect", model, "--json").out)
    flash = facts["constants_bytes"] + facts["code_bytes_estimate"]
    said = run_deploy("inspect", model).out
    assert f"flash {flash:>11,} bytes: constants {facts['constants_bytes']:,}, code about " in said
    assert f" bytes: arena {facts['arena_bytes']:,}, stack about " in said
    apart = run_deploy("inspect", model, "--io", "caller").out
    assert ", inputs and outputs 69, stack about " in apart
    assert max(map(len, said.splitlines())) <= 110


@pytest.mark.parametrize(
    ("cycles", "shown"), [(24_511_735, "1,532 ms"), (1_600_000, "100 ms"), (99, "0.00619 ms")]
)
def test_a_time_has_no_exponent(cycles, shown):
    assert f" {shown} at 16 MHz" in time_lines(RunCycles(cycles, 0, "counted", False), 16_000_000)


def test_inspect_has_the_time_of_a_run_and_its_origin(model, run_deploy, tmp_path):
    def time_on(board: str) -> dict[str, Any] | None:
        time: dict[str, Any] | None
        time = json.loads(run_deploy("inspect", model, "--board", board, "--json").out)["time"]
        return time

    known, similar = time_on("nucleo-f446re"), time_on("nrf5340dk")
    assert known is not None
    assert known["time_s"] == pytest.approx(known["cycles"] / 96e6)
    assert known["is_of_core"]
    assert similar is not None
    assert not similar["is_of_core"]
    assert "no measurements for cortex-m33" in similar["source"]
    generic = time_on("qemu-riscv32-vectors")
    assert generic is not None
    assert generic["source"] == "counted from loops: no measurements for rv32imac-zve32x"
    assert (generic["measured_cycles"], generic["is_of_core"]) == (0, False)
    page = run_deploy("inspect", model, "--board", "qemu-riscv32-vectors").out
    assert re.search(r"^time .*a rough estimate: ", page, re.M)
    assert generic["source"] in page
    assert time_on("host") is None, "this computer's clock says nothing"
    out = run_deploy("inspect", model, "--board", "nucleo-f446re").out
    assert re.search(r"^time +[\d.]+ ms at 96 MHz, estimated: [\d,]+ cycles if flash never waits$", out, re.M)
    assert re.search(r"^time +estimated: [\d,]+ cycles", run_deploy("inspect", model).out, re.M)


@pytest.mark.arm
@pytest.mark.slow
@pytest.mark.parametrize(
    ("board", "more", "off"), [("mps2-an386", (), 0.03), ("rpi-pico2-riscv", ("--emulated",), 0.01)]
)
@pytest.mark.parametrize("name", ["tiny_kws_dscnn_int8", "tiny_ad_fc_int8"])
def test_the_estimated_cycles_are_near_those_of_the_cycle_model(
    name, board, more, off, shared_dir, run_deploy, require_package, require_tool
):
    require_package("unicorn", "capstone")
    if more:
        require_tool("riscv64-unknown-elf-gcc", "qemu-system-riscv32")
    words = (shared_dir / "models" / name / "model.tflite", "--board", board, "--json")
    estimated = json.loads(run_deploy("inspect", *words).out)["time"]
    (cost,) = json.loads(run_deploy("bench", *words, *more).out)
    told = cost["cycle_model"]
    waits = told["parts"].get("flash waits", 0)
    assert estimated["measured_cycles"] == estimated["cycles"]
    assert estimated["cycles"] == pytest.approx(told["cycles"] - waits, rel=off)


def test_an_archive_is_inspected_for_its_own_board(model, run_deploy, tmp_path):
    compiled = run_deploy("compile", model, "--board", "nucleo-f446re", "-o", tmp_path / "a.tar")
    out = run_deploy("inspect", tmp_path / "a.tar").out
    assert " for nucleo-f446re\n" in out
    assert "server and C library, as built" in out, "firmware is counted, as for the model file"
    assert out == run_deploy("inspect", model, "--board", "nucleo-f446re").out, "also the time of a run"
    (code,) = re.findall(r"([\d,]+) code, estimated", out)
    assert re.search(rf"code +{code} bytes, estimated", compiled.out), "one estimate of the code"
    times = [
        json.loads(run_deploy("inspect", *words, "--json").out)["time"]
        for words in ((tmp_path / "a.tar",), (model, "--board", "nucleo-f446re"))
    ]
    assert times[0] == times[1]
    run_deploy("compile", model, "--board", "host", "-o", tmp_path / "host.tar")
    assert "\ntime " not in run_deploy("inspect", tmp_path / "host.tar").out, "as for the model file"


def test_a_project_is_inspected_for_its_board_and_not_for_that_of_its_archive(model, run_deploy, tmp_path):
    run_deploy("compile", model, "--board", "nucleo-f446re", "-o", tmp_path / "a.tar")
    made = run_deploy("new", tmp_path / "a.tar", tmp_path / "p", "--board", "mps2-an386")
    assert made.status == 0, made.err
    assert " for mps2-an386\n" in run_deploy("inspect", tmp_path / "p").out


@pytest.mark.slow
def test_inspect_says_where_too_much_is_there_at_once_to_search(model, run_deploy, monkeypatch):
    said = (
        "above the lower bound, not proven minimal: too many buffers are live at once to search for a "
        "smaller arena"
    )
    assert said not in run_deploy("inspect", model).out
    monkeypatch.setattr(place, "MOST_PAIRS", -1)
    forget_plans()
    assert said in run_deploy("inspect", model).out


def test_inspect_says_which_strategies_do_not_fit_and_why(model, run_deploy):
    on_m4 = run_deploy("inspect", model, "--board", "mps2-an386", "--layers").out
    assert "\nstrategies that were tried first but do not fit, with their layers\n" in on_m4
    assert re.search(r"^  helium: the core has no mve \(\d+(, \d+)*\)$", on_m4, re.MULTILINE)
    assert "helium:" not in run_deploy("inspect", model, "--board", "mps3-an547", "--layers").out
    facts = json.loads(run_deploy("inspect", model, "--board", "mps2-an386", "--json").out)
    (conv,) = [layer for layer in facts["layers"] if layer["op"] == "conv2d"]
    assert conv["passed_over"] == [
        "helium: the core has no mve",
        "winograd: only for windows of 3x3, one by one",
    ]


def test_inspect_as_json_has_the_same_numbers_for_model_and_archive(model, archive, run_deploy):
    of_model = json.loads(run_deploy("inspect", model, "--board", "host", "--json").out)
    of_archive = json.loads(run_deploy("inspect", archive, "--board", "host", "--json").out)
    assert of_model == of_archive
    assert of_model["fits"] is True
    assert of_model["macs"] == sum(layer["macs"] for layer in of_model["layers"]) > 0
    assert of_model["operators"]["conv2d"] == 1
    assert [slot["shape"] for slot in of_model["inputs"]] == [[1, 8, 8, 1]]
    assert sum(layer["is_peak"] for layer in of_model["layers"]) == 1


def test_inspect_as_json_says_what_lives_where_if_asked(model, run_deploy):
    assert "arena" not in json.loads(run_deploy("inspect", model, "--json").out)
    facts = json.loads(run_deploy("inspect", model, "--memory", "--json").out)
    (pool,) = facts["arena"]["pools"]
    assert (pool["name"], pool["bytes"]) == ("arena", facts["arena_bytes"])
    assert max(b["offset"] + b["bytes"] for b in pool["buffers"]) == pool["bytes"]
    assert pool["peak_step"] < facts["arena"]["steps"] == len(facts["arena"]["order"])


def test_inspect_without_a_board_says_nothing_of_fitting(model, run_deploy):
    assert json.loads(run_deploy("inspect", model, "--json").out)["fits"] is None
    assert ": fits" not in run_deploy("inspect", model).out


def test_inspect_draws_the_arena_into_a_file(model, tmp_path, run_deploy):
    for _ in range(2):  # a picture may be replaced by a picture
        assert run_deploy("inspect", model, "--svg", tmp_path / "map.svg").status == 0
    assert (tmp_path / "map.svg").read_text(encoding="utf-8").startswith("<svg")


@pytest.mark.slow
def test_inspect_answers_at_once(shared_dir, tmp_path):
    """Calls of functions are counted: a processor that others use too takes longer for the same."""
    model = shared_dir / "models" / "tiny_vww_mbv1_int8" / "model.tflite"
    argv = ["-m", "deploy", "inspect", str(model), "--board", "mps2-an386"]
    profile = tmp_path / "calls"
    for _ in range(2):  # the second time with the bytecode that an installed package has
        subprocess.run(
            [sys.executable, "-m", "cProfile", "-o", str(profile), *argv],
            stdout=subprocess.DEVNULL,
            check=True,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(tmp_path)},
        )
    assert vars(pstats.Stats(str(profile)))["total_calls"] < INSPECT_CALLS


@pytest.mark.slow
def test_boards_are_listed_and_shown(run_deploy):
    assert run_deploy("boards").out == run_deploy("boards", "list").out
    assert re.search(r"^mps2-an386 +cortex-m4 ", run_deploy("boards").out, re.MULTILINE)
    assert "runners     qemu, unicorn" in run_deploy("boards", "show", "mps2-an386").out


def test_boards_as_json_have_their_regions(run_deploy):
    listed = json.loads(run_deploy("boards", "list", "--json").out)
    shown = json.loads(run_deploy("boards", "show", "mps2-an386", "--json").out)
    assert shown in listed
    assert {region["role"] for region in shown["regions"]} == {"ram", "flash"}


def test_json_may_stand_before_the_word_too(run_deploy):
    assert run_deploy("boards", "--json", "list").out == run_deploy("boards", "list", "--json").out


@pytest.mark.slow
def test_doctor_names_a_compiler_and_a_runner_for_every_board_it_builds_for(run_deploy):
    abilities = json.loads(run_deploy("doctor", "--json").out)["boards"]
    assert {"host", "mps2-an386"} <= {ability["board"] for ability in abilities}
    assert all(ability["lacks"] or (ability["compiler"] and ability["runner"]) for ability in abilities)


@pytest.mark.slow
def test_doctor_says_how_to_get_what_is_lacking(run_deploy, monkeypatch):
    monkeypatch.setattr("platforms.runners.qemu.shutil.which", lambda _name: None)
    monkeypatch.setattr("platforms.runners.unicorn_runner.find_spec", lambda _name: None)
    out = run_deploy("doctor").out
    assert re.search(
        r"^qemu +needs qemu-system-arm \(Debian: apt install qemu-system-arm\)$", out, re.MULTILINE
    )
    assert "pip install 'solder-mcu[unicorn]'" in out


@pytest.mark.slow
def test_doctor_says_once_how_to_get_what_many_boards_lack(run_deploy, monkeypatch):
    monkeypatch.delenv("ZEPHYR_BASE", raising=False)
    out = run_deploy("doctor").out
    (boards, way) = re.findall(r"^cannot be built for: ((?:.*\n)*?)  (.*Zephyr 3.7 .*)$", out, re.MULTILINE)[
        0
    ]
    assert "nano-33-ble" in re.split(r"[,\s]+", boards)
    assert re.search(r"and [2-9]\d more \(deploy boards list\)$", " ".join(boards.split()))
    assert out.count(way) == 1
    assert len(out.splitlines()) <= 60


@pytest.mark.arm
def test_doctor_lists_the_programs_that_flash_a_board(run_deploy, monkeypatch):
    """A user with the board is not helped by the remark that its core can be emulated."""
    for name in ("pyocd", "openocd"):
        monkeypatch.setattr(runner_named(name), "missing", lambda: "needs a flasher")
    out = run_deploy("doctor", "--board", "nucleo-f446re").out
    assert "lacks     pyocd: needs a flasher, openocd: needs a flasher" in out


def test_doctor_says_what_one_board_lacks(run_deploy, monkeypatch):
    monkeypatch.delenv("ZEPHYR_BASE", raising=False)
    monkeypatch.setattr(
        "deploy.host_tools.tool_inventory.usb_ports",
        lambda: (UsbPort("/dev/ttyACM3", 0x2E8A, 0x000A, "E66"),),
    )
    out = run_deploy("doctor", "--board", "rpi-pico").out
    assert "port      /dev/ttyACM3\n" in out
    out = run_deploy("doctor", "--board", "nucleo-g474re").out
    assert "platform  none that can be built here\n" in out
    assert "compiler  none\n" in out
    assert "lacks     pip install west; get Zephyr 3.7 or newer" in out


@pytest.mark.slow
def test_doctor_lists_serial_ports_optional_packages_and_what_is_kept(run_deploy, monkeypatch):
    ports = (UsbPort("/dev/ttyACM3", 0x2341, 0x0043, "557"), UsbPort("COM4", 1, 2, ""))
    monkeypatch.setattr("deploy.host_tools.tool_inventory.usb_ports", lambda: ports)
    monkeypatch.setattr(
        "deploy.host_tools.tool_inventory.find_spec", lambda name: None if name == "ortools" else object()
    )
    out = run_deploy("doctor").out
    assert re.search(r"^/dev/ttyACM3  2341:0043  557 +arduino-uno$", out, re.MULTILINE)
    assert re.search(r"^COM4          0001:0002  none +not known$", out, re.MULTILINE)
    assert "  missing:     exact (pip install 'solder-mcu[NAME]')" in out
    assert re.search(r"^kept firmware  \d+ builds, .* in .*solder$", out, re.MULTILINE)


def test_the_optional_packages_are_those_that_the_project_names(repo_root):
    page = read_toml(repo_root / "pyproject.toml", "the project's file")
    for_tests_alone = {"test", "browser", "channels", "fronts"}
    assert set(PACKAGES) == set(page["project"]["optional-dependencies"]) - for_tests_alone


def test_multiplications_that_passes_removed_are_reported(shared_dir, tmp_path, run_deploy):
    """Dense layers of 1 x 16, 16 x 16 and 16 x 1, of which some channels can never change."""
    path = shared_dir / "models" / "tflm_hello_world_int8" / "model.tflite"
    facts = json.loads(run_deploy("inspect", path, "--json").out)
    assert facts["removed_macs"].keys() == {"remove-dead-channels"}
    assert facts["macs"] + facts["removed_macs"]["remove-dead-channels"] == 16 + 16 * 16 + 16
    line = "  MACs       220; removed: 68 by remove-dead-channels\n"
    assert line in run_deploy("inspect", path).out
    run_deploy("compile", path, "--board", "host", "-o", tmp_path / "a.tar")
    assert line in run_deploy("inspect", tmp_path / "a.tar").out
    assert (
        run_deploy("inspect", path, "--disable", "remove-dead-channels").out.count("  MACs       288\n") == 1
    )
