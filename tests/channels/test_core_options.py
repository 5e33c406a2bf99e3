"""What is exported for a core is compiled as what is measured there: it takes as many instructions."""

import json
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path
from zipfile import ZipFile

import pytest

import deploy
from aot.target import Target
from boards.cores import load_core
from platforms import layout
from platforms.base import BuildChoices, platform_of
from platforms.board_files import load_board
from platforms.project import App, ProjectSource, project_source
from platforms.rpc.deadlines import Deadlines
from platforms.rpc.session import Session
from platforms.toolchains import cmake_flags, code_flags, cpu_flags

DIGITS = Path(deploy.__file__).parent / "demo" / "digits.tflite"
COMPILER = "riscv64-unknown-elf-gcc"
BOARD = "qemu-riscv32"
WAITS = Deadlines(hello_s=60, answer_s=60, run_s=60, device_run_s=5, retry_s=4, retry_most_s=60)


def architecture(target: Target, family: str) -> tuple[str, ...]:
    """The options that a user gives, who knows the core and none of what makes its code fast."""
    return tuple(flag for flag in cpu_flags(target, family) if not flag.startswith("-f"))


def options_of_folder(folder: Path) -> tuple[str, ...]:
    """The options with which CMake compiles the model in an exported folder."""
    target = load_board(BOARD).target
    flags = " ".join(architecture(target, "gcc"))
    toolchain = ["-DCMAKE_SYSTEM_NAME=Generic", f"-DCMAKE_C_COMPILER={COMPILER}", f"-DCMAKE_C_FLAGS={flags}"]
    made = folder / "made"
    words = ["cmake", "-S", folder, "-B", made, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", *toolchain]
    words += ["-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY"]
    subprocess.run(list(map(str, words)), check=True, capture_output=True)
    commands = json.loads((made / "compile_commands.json").read_text())
    (command,) = (each["command"] for each in commands if each["file"].endswith("/digits.c"))
    return tuple(word for word in shlex.split(command) if word.startswith(("-O", "-f", "-std")))


def instructions(source: ProjectSource, folder: Path) -> int:
    """The instructions of a run of firmware with the model."""
    board = load_board(BOARD)
    platform = platform_of(board)
    platform.generate(source, folder, board, App.RPC)
    firmware = platform.build(folder, board, BuildChoices(COMPILER, False))
    session = Session(platform.open_line(firmware, board, BOARD), WAITS)
    try:
        session.hello()
        timing = session.time(session.describe()[0], 1, 1)
    finally:
        session.close()
    return board.counter.instructions(timing.ticks[0] - timing.empty_ticks)


@pytest.mark.arm
@pytest.mark.qemu
def test_an_exported_folder_takes_the_instructions_that_are_published(tmp_path, require_tool, monkeypatch):
    for tool in ("cmake", COMPILER, "qemu-system-riscv32"):
        require_tool(tool)
    compiled = deploy.compile(DIGITS, BOARD)
    source = project_source(compiled.artifact)
    published = instructions(source, tmp_path / "published")
    compiled.save(tmp_path / "folder")
    monkeypatch.setattr(layout, "cpu_flags", architecture)
    slow = instructions(source, tmp_path / "slow")
    exported = instructions(replace(source, c_flags=options_of_folder(tmp_path / "folder")), tmp_path / "own")
    assert exported == published
    assert slow > published, "the option is needed: otherwise this test would see nothing"


CHANNELS = {  # a file of each that says how the model is compiled
    "cmake": "CMakeLists.txt",
    "conan": "CMakeLists.txt",
    "esp-idf": "CMakeLists.txt",
    "zephyr-module": "CMakeLists.txt",
    "platformio": "library.json",
    "single-file": "README.md",
    "arduino": "README.md",
}


@pytest.mark.parametrize("channel", CHANNELS)
def test_a_package_has_the_options_of_its_core(channel, tmp_path):
    deploy.export(DIGITS, channel, tmp_path / "digits", board=BOARD)
    assert "-fno-schedule-insns" in (tmp_path / "digits" / CHANNELS[channel]).read_text()


def test_only_what_changes_the_code_is_taken_and_for_gcc_alone():
    risc_v, arm = (load_board(name).target for name in (BOARD, "mps2-an386"))
    assert code_flags(risc_v) == ("-fno-schedule-insns",)
    assert code_flags(arm) == ()
    level = "$<$<NOT:$<CONFIG:Debug>>:-O2>"  # a debugger steps through what Debug asks for
    assert cmake_flags(("-O2",), risc_v) == f"{level} $<$<C_COMPILER_ID:GNU>:-fno-schedule-insns>"


def test_a_model_for_an_arm_core_is_refused_for_espressifs_tools(tmp_path, run_deploy):
    digits = Path(__file__).parents[2] / "deploy" / "demo" / "digits.tflite"
    words = ("export", digits, "--board", "nucleo-f446re", "-o", tmp_path / "out.zip")
    outcome = run_deploy(*words, "--as", "esp-idf")
    assert outcome.status == 1
    assert "was compiled for cortex-m4, but ESP-IDF builds for Espressif's chips" in outcome.err
    assert run_deploy(*words, "--as", "arduino").status == 0
    with ZipFile(tmp_path / "out.zip") as package:
        (properties,) = (name for name in package.namelist() if name.endswith("library.properties"))
        assert b"architectures=mbed," in package.read(properties)


@pytest.mark.cc
@pytest.mark.parametrize("core", ["esp32-c3", "hazard3", "rv32imac"])
def test_a_sum_with_2048_is_compiled(core, tmp_path, require_tool):
    """gcc 12 fails at it with the instructions for single bits, which the RP2350 has."""
    require_tool(COMPILER)
    file = tmp_path / "sum.c"
    file.write_text("int sum(int a) { return a + 2048; }\n")
    flags = cpu_flags(load_core(core).target(), "gcc")
    subprocess.run([COMPILER, *flags, "-O2", "-c", file, "-o", tmp_path / "sum.o"], check=True)
