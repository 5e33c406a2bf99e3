"""The Arduino platform: a library and its sketches, built by Debian's tools and run on AVRs in simavr."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_models import TINY

from aot.errors import BoardError, FitError, ToolError
from aot.frontend.load import load_model
from aot.interpret import run_graph
from platforms.arduino import PLATFORM
from platforms.arduino_tools import builder_commands, cli_commands, find_arduino_tool, listed_cores
from platforms.base import compiler_platform_of
from platforms.board_files import all_boards, load_board
from platforms.elf import place_at
from platforms.project import App, ProjectSource
from platforms.rpc.deadlines import Deadlines
from platforms.rpc.failures import DeviceCrashedError
from platforms.rpc.session import Session

Run = Callable[..., Any]
UNO = load_board("arduino-uno")
BOARDS = [board for board in all_boards() if "arduino" in board.platforms]


@pytest.fixture
def avr_tools(require_tool: Callable[..., None]) -> None:
    require_tool("arduino-builder", "avr-gcc", "simavr", "gcc")


def test_a_project_is_a_library_as_the_arduino_tools_know_it(tiny: ProjectSource) -> None:
    files = PLATFORM.files(tiny, UNO, App.RPC)
    properties = dict(line.split("=", 1) for line in files["library.properties"].splitlines())
    assert properties["name"] == "tiny"
    assert properties["architectures"] == "avr"
    assert properties["includes"] == "tiny.h"
    assert "#include <tiny.h>" in files["examples/once/once.ino"]
    assert "solder_server_run();" in files["examples/server/server.ino"]
    assert all(name.count("/") == 1 for name in files if name.startswith("src/"))


CATEGORIES = (
    *("Communication", "Data Processing", "Data Storage", "Device Control", "Display", "Other", "Sensors"),
    *("Signal Input/Output", "Timing", "Uncategorized"),
)


@pytest.mark.parametrize("app", [App.RPC, App.STANDALONE])
def test_a_library_keeps_the_rules_of_the_arduino_library_specification(
    tiny: ProjectSource, app: App
) -> None:
    files = PLATFORM.files(tiny, UNO, app)
    properties = dict(line.split("=", 1) for line in files["library.properties"].splitlines())
    asked = {
        "name",
        "version",
        "author",
        "maintainer",
        "sentence",
        "paragraph",
        "category",
        "url",
        "architectures",
    }
    assert asked <= properties.keys()
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,62}", properties["name"])
    assert re.fullmatch(r"\d+\.\d+\.\d+", properties["version"])
    assert properties["category"] in CATEGORIES
    assert f"src/{properties['includes']}" in files
    sketches = [Path(name) for name in files if name.endswith(".ino")]
    assert sketches
    assert all(path.parts == ("examples", path.stem, path.name) for path in sketches)
    at_the_root = {name for name in files if "/" not in name}
    assert at_the_root == {"library.properties", "README.md", "project.json", ".gitignore"}


def test_a_library_without_the_server_holds_the_model_and_nothing_else(tiny: ProjectSource) -> None:
    files = PLATFORM.files(tiny, UNO, App.STANDALONE)
    assert {name for name in files if name.startswith(("src/", "examples/"))} == {
        *("src/tiny.c", "src/tiny.h", "src/tiny_weights.c", "src/tiny_weights.h"),
        "examples/once/once.ino",
    }


@pytest.mark.slow
@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_every_arduino_board_has_a_port(board: Any, tiny: ProjectSource) -> None:
    files = PLATFORM.files(tiny, board, App.RPC)
    own = {"arm": "src/port_cortex_m.c", "avr": "src/port_avr.c", "xtensa": "src/port_xtensa.c"}
    chip = own[board.core.machine]
    assert "solder_port_ticks" in files[chip]
    assert board.platforms["arduino"]["fqbn"] in files["README.md"]


def test_constants_beyond_16_bits_of_address_are_refused(tiny: ProjectSource) -> None:
    with pytest.raises(FitError) as caught:
        PLATFORM.files(replace(tiny, constants_bytes=70_000), UNO, App.RPC)
    assert str(caught.value) == (
        "error: the constants of tiny take 70,000 bytes, "
        "an AVR's 16-bit addresses reach 61,440 of its flash\n"
        "  arduino-uno\n"
        "  hint: a smaller model, or a board with a 32-bit core"
    )


def test_arduino_cli_builds_the_sketch_with_this_library() -> None:
    (argv,) = cli_commands("kws", "arduino:avr:uno", "examples/server", "/p/build", profile=True).all
    assert " ".join(argv) == (
        "arduino-cli compile --fqbn arduino:avr:uno --library . --build-path /p/build "
        "--build-property compiler.c.extra_flags=-DSOLDER_LAYER_HOOK examples/server"
    )


def test_arduino_builder_finds_this_library_among_libraries() -> None:
    folders, link, build = builder_commands("kws", "arduino:avr:uno", "examples/once", "/p/build", False).all
    assert folders == ("mkdir", "-p", "build/sketchbook", "/p/build")
    assert link == ("ln", "-sfn", "../..", "build/sketchbook/kws")
    assert " ".join(build) == (
        "arduino-builder -compile -hardware /usr/share/arduino/hardware -hardware /usr/share/arduino-builder "
        "-tools /usr/share/arduino/hardware -fqbn arduino:avr:uno -libraries build/sketchbook "
        "-build-path /p/build -prefs compiler.cpp.extra_flags=-DDECIMAL_DIG=__DECIMAL_DIG__ "
        "-prefs compiler.c.elf.extra_flags=-gdwarf-2 examples/once/once.ino"
    )


def test_no_tool_at_all_is_told_with_the_way_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _program: None)
    with pytest.raises(ToolError) as caught:
        find_arduino_tool("arduino:avr")
    assert str(caught.value) == (
        "error: no program that builds sketches was found\n"
        "  looked for arduino-cli, arduino-builder\n"
        "  hint: arduino-cli is at arduino.github.io/arduino-cli; "
        "then: arduino-cli core install PACKAGE:ARCHITECTURE\n"
        "        for AVR on Debian: apt install arduino-builder arduino-core-avr"
    )


def test_a_core_that_is_not_installed_is_told_and_its_board_is_not_ready(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: name if name == "arduino-builder" else None)
    monkeypatch.setattr("platforms.arduino_tools.HARDWARE", str(tmp_path))
    (tmp_path / "arduino/avr").mkdir(parents=True)
    with pytest.raises(ToolError) as caught:
        PLATFORM.toolchain(load_board("feather-s2"))
    assert str(caught.value) == (
        "error: the Arduino core esp32:esp32 is not installed\n"
        "  asked arduino-builder\n"
        "  hint: arduino-cli core install esp32:esp32; "
        "its maker's package index comes first if it is not Arduino's"
    )


def test_installed_cores_are_the_first_words_that_arduino_cli_lists() -> None:
    assert listed_cores(
        "ID              Installed Latest Name\narduino:avr     1.8.6     1.8.6  Arduino AVR Boards\n"
        "adafruit:samd   1.7.16    1.7.16 Adafruit SAMD\n\n"
    ) == {"arduino:avr", "adafruit:samd"}


def test_tuning_on_an_arduino_is_refused_with_the_way_out() -> None:
    with pytest.raises(BoardError) as caught:
        compiler_platform_of(UNO)
    assert str(caught.value) == (
        "error: kernels cannot be tuned on arduino-uno\n"
        "  platforms: arduino\n"
        "  hint: tune on an emulated board with the same core: its records serve this board too"
    )


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize(
    ("board", "model", "ram_bytes"), [("arduino-uno", "dense", 2048), ("arduino-mega", "classifier", 8192)]
)
def test_a_model_runs_on_an_avr_bit_for_bit(
    board: str, model: str, ram_bytes: int, tmp_path: Path, run_deploy: Run, avr_tools: None
) -> None:
    file = tmp_path / f"{model}.tflite"
    file.write_bytes(TINY[model]())
    graph = load_model(file)
    (name,) = graph.inputs
    series = np.random.default_rng(3).integers(-128, 128, (4, *graph.types[name].shape), dtype=np.int8)
    np.savez(tmp_path / "in.npz", input_0=series)
    words = ("--board", board, "--inputs", tmp_path / "in.npz", "--output", tmp_path / "out.npz", "--json")
    outcome = run_deploy("run", file, *words)
    assert outcome.status == 0, outcome.err
    wanted = [next(iter(run_graph(graph, {name: sample}).values())) for sample in series]
    np.testing.assert_array_equal(np.load(tmp_path / "out.npz")["output_0"], np.stack(wanted))
    cycles = json.loads(outcome.out)["cycles"]
    assert 1_000 < cycles["min"] <= cycles["max"] < 10_000_000

    layers = json.loads(run_deploy("verify", file, "--board", board, "--layers", "--json").out)
    assert layers["equal"] is True

    (bench,) = json.loads(run_deploy("bench", file, "--board", board, "--json").out)
    assert 0 < bench["stack_bytes"] < ram_bytes / 2


@pytest.mark.cc
@pytest.mark.slow
def test_firmware_that_leaves_an_avr_no_stack_is_refused(
    repo_root: Path, tmp_path: Path, run_deploy: Run, avr_tools: None
) -> None:
    model, out = repo_root / "deploy" / "demo" / "digits.tflite", tmp_path / "digits.tar"
    assert run_deploy("compile", model, "--board", "arduino-uno", "-o", out).status == 0
    for app in ("rpc", "standalone"):
        assert run_deploy("new", out, tmp_path / app, "--board", "arduino-uno", "--app", app).status == 0
    refused = run_deploy("build", tmp_path / "rpc")
    assert re.fullmatch(
        r"error: the firmware's variables take 1,9\d\d of the 2,048 bytes of RAM of arduino-uno, "
        r"\d+ are left to a stack of 160 at least\n"
        r"  server\.ino\.elf\n"
        r"  hint: deploy new --app standalone leaves out the server and its buffers; "
        r"or a board with more RAM\n",
        refused.err,
    )
    assert run_deploy("build", tmp_path / "standalone").status == 0


@pytest.mark.cc
@pytest.mark.slow
def test_a_run_that_goes_wrong_on_an_avr_comes_back_as_a_named_fault(
    crashing: ProjectSource, tmp_path: Path, avr_tools: None
) -> None:
    """Nothing guards its memory: the watchdog ends what hangs, and a full stack is noticed after the run."""
    PLATFORM.generate(crashing, tmp_path / "p", UNO, App.RPC)
    firmware = PLATFORM.build(tmp_path / "p", UNO)
    deadlines = Deadlines(hello_s=60.0, answer_s=60.0, run_s=60.0, device_run_s=1.0, retry_s=4.0)
    session = Session(
        PLATFORM.open_line(firmware, UNO), deadlines, locate=lambda pc: place_at(firmware.elf, pc)
    )
    try:
        for how, fault in ((4, r"watchdog reset in .* \(tiny\.c:\d+\), pc 0x"), (5, "stack overflow")):
            session.hello()
            model = session.describe()[0]
            session.write_input(model, 0, bytes([how, 0, 0, 0]))
            with pytest.raises(DeviceCrashedError, match=fault):
                session.run(model)
    finally:
        session.close()


@pytest.mark.cc
@pytest.mark.slow
def test_the_sketch_prints_the_outputs(tmp_path: Path, run_deploy: Run, avr_tools: None) -> None:
    """The example for people, once around its loop."""
    from platforms.runners import simavr

    file = tmp_path / "dense.tflite"
    file.write_bytes(TINY["dense"]())
    graph = load_model(file)
    (name,) = graph.inputs
    run_deploy("compile", file, "--board", UNO.name, "-o", tmp_path / "dense.tar")
    run_deploy("new", tmp_path / "dense.tar", tmp_path / "p", "--board", UNO.name, "--app", "standalone")
    firmware = PLATFORM.build(tmp_path / "p", UNO)
    line = simavr.open_line(firmware.elf, UNO)
    printed = b""
    while not printed.endswith(b"\n"):
        printed += line.read(200, 10.0)
    line.close()
    zeros = {name: np.zeros(graph.types[name].shape, np.int8)}
    wanted = next(iter(run_graph(graph, zeros).values())).reshape(-1).tolist()
    assert [int(word) for word in printed.split(b":")[1].split()] == wanted


TWO_MODELS = """
#include <dense.h>
#include <classifier.h>
static uint8_t arena[4096];
void setup() {
  struct dense_inputs few = {0};
  struct dense_outputs scores = {0};
  struct classifier_inputs image = {0};
  struct classifier_outputs classes = {0};
  dense_run(&few, &scores, arena);
  classifier_run(&image, &classes, arena);
}
void loop() {}
"""


@pytest.mark.slow
def test_two_libraries_with_a_server_each_are_linked_into_one_sketch(
    tmp_path: Path, run_deploy: Run, avr_tools: None
) -> None:
    """Their servers have the same names: what a sketch does not use is left in a library's archive."""
    board, libraries = load_board("arduino-mega"), tmp_path / "build" / "sketchbook"
    for name in ("dense", "classifier"):
        file = tmp_path / f"{name}.tflite"
        file.write_bytes(TINY[name]())
        assert run_deploy("compile", file, "--board", board.name, "-o", tmp_path / f"{name}.tar").status == 0
        assert (
            run_deploy("new", tmp_path / f"{name}.tar", libraries / name, "--board", board.name).status == 0
        )
    (tmp_path / "two").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "two" / "two.ino").write_text(TWO_MODELS)
    fqbn = board.platforms["arduino"]["fqbn"]
    *_, build = builder_commands("", fqbn, str(tmp_path / "two"), str(tmp_path / "out"), profile=False).all
    done = subprocess.run(build, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "multiple definition" not in done.stderr
