"""The Zephyr platform: an application and a module; built and run where a Zephyr tree is at hand."""

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from error_facts import refused
from every_board import EVERY_BOARD
from tiny_models import TINY

import deploy
from aot.errors import ToolError
from aot.frontend.load import load_model
from aot.interpret import run_graph
from boards.board import BoardStatus
from platforms.board_files import load_board
from platforms.elf import place_at, symbols
from platforms.project import App, ProjectSource
from platforms.rpc.deadlines import Deadlines
from platforms.rpc.failures import DeviceCrashedError
from platforms.rpc.session import Session
from platforms.zephyr import PLATFORM, find_west, tree_version, west_build

BOARDS = [board for board in EVERY_BOARD if "zephyr" in board.platforms]
AN385, AN521 = load_board("mps2-an385"), load_board("mps2-an521")
# Made from the templates alone; the rest of a project is the runtime and the model.
OWN_FILES = (
    "CMakeLists.txt",
    "prj.conf",
    "sample.yaml",
    "README.md",
    "src/port.c",
    "src/fault.c",
    "src/deadline.c",
    "src/main.c",
    "Kconfig",
)
MODULE_FILES = ("CMakeLists.txt", "Kconfig", "zephyr/module.yml")


@pytest.fixture
def zephyr_tree():
    """A tree is in no package registry: these tests run where somebody has one, in CI too."""
    if not os.environ.get("ZEPHYR_BASE"):
        pytest.skip("needs Zephyr's tree: ZEPHYR_BASE is not set")


@pytest.mark.parametrize("name", [*OWN_FILES, *(f"model/{name}" for name in MODULE_FILES)])
def test_a_project_is_as_a_person_would_write_it(tiny, golden, name):
    golden(name.replace("/", "_"), PLATFORM.files(tiny, load_board("nrf52840dk"), App.RPC)[name])


GADGET = Path(__file__).parents[1] / "api" / "functions" / "gadget.c"


def with_functions(source: ProjectSource) -> ProjectSource:
    return replace(source, functions={GADGET.name: GADGET.read_text(encoding="utf-8")})


def test_functions_are_files_and_a_table_of_the_linker_s(tiny, golden):
    board = load_board("nrf52840dk")
    files = PLATFORM.files(with_functions(tiny), board, App.RPC)
    golden("CMakeLists_functions.txt", files["CMakeLists.txt"])
    plain = PLATFORM.files(tiny, board, App.RPC)
    assert set(files) - set(plain) == {"src/gadget.c", "src/heap.c", "functions.ld"}
    assert not any("functions.ld" in text for text in plain.values())


# As Zephyr's scripts for Cortex-M place what is copied from flash, in one section with the variables.
_DATA_SCRIPT = """
MEMORY { FLASH (rx) : ORIGIN = 0, LENGTH = 64K RAM (rwx) : ORIGIN = 0x20000000, LENGTH = 64K }
SECTIONS
{
    text : { *(.text .text.*) *(.rodata .rodata.*) } > FLASH
    datas : {
        *(.data .data.*)
        INCLUDE constants.ld
    } > RAM AT > FLASH
    /DISCARD/ : { *(.comment .ARM.*) }
}
ENTRY(main)
"""
_CONSTANTS = """
#define IN(region) __attribute__((section(".solder_constants." #region)))
const int fast[2] IN(RAM) = {1, 2};
const int elsewhere = 3;
int variable = 4;
int main(void) { return fast[0] + elsewhere + variable; }
"""


def test_constants_in_ram_are_a_file_and_a_line_of_the_build(tiny):
    board = load_board("nrf52840dk")
    plain = PLATFORM.files(tiny, board, App.RPC)
    files = PLATFORM.files(replace(tiny, constants_in={"RAM": 8, "FLASH": 4}), board, App.RPC)
    assert set(files) - set(plain) == {"constants.ld"}
    assert "*(.solder_constants.RAM)" in files["constants.ld"]
    assert "FLASH" not in files["constants.ld"]
    assert "zephyr_linker_sources(RWDATA constants.ld)" in files["CMakeLists.txt"]
    assert not any("constants.ld" in text for text in plain.values())


@pytest.mark.arm
def test_the_linker_puts_them_among_the_variables_and_a_copy_into_flash(tiny, tmp_path, require_tool):
    require_tool("arm-none-eabi-nm")
    files = PLATFORM.files(replace(tiny, constants_in={"RAM": 8}), load_board("nrf52840dk"), App.RPC)
    (tmp_path / "constants.ld").write_text(files["constants.ld"])
    (tmp_path / "zephyr.ld").write_text(_DATA_SCRIPT)
    (tmp_path / "main.c").write_text(_CONSTANTS)
    gcc = ("arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", "-O0", "-nostdlib", "-Wl,--fatal-warnings")
    subprocess.run([*gcc, "-Wl,-T,zephyr.ld", "main.c", "-o", "main.elf"], cwd=tmp_path, check=True)
    at = {symbol.name: symbol.address for symbol in symbols(tmp_path / "main.elf")}
    assert at["fast"] >= 0x2000_0000
    assert at["variable"] >= 0x2000_0000
    assert at["elsewhere"] < 0x1_0000


# As Zephyr's scripts for Cortex-M and RISC-V place it: at the end of one section of constants.
_SCRIPT = """
SECTIONS
{
    . = 0x1000;
    text : { *(.text .text.*) }
    rodata : {
        *(.rodata .rodata.*)
        INCLUDE functions.ld
    }
    bss : { *(.bss .bss.*) }
    /DISCARD/ : { *(.comment .ARM.*) }
}
ENTRY(main)
"""
_MAIN = """
#include "solder_function.h"
void solder_fail(const char *reason) { (void)reason; }
int main(void) { return solder_find_function("peak", "f32(f32[600])") != 0; }
"""


@pytest.mark.arm
def test_the_linker_keeps_every_function_in_that_table(tiny, tmp_path, require_tool):
    require_tool("arm-none-eabi-nm")
    files = PLATFORM.files(with_functions(tiny), load_board("nrf52840dk"), App.RPC)
    wanted = (
        "src/runtime/solder_function.c",
        "src/runtime/solder_function.h",
        "src/gadget.c",
        "functions.ld",
    )
    for name in wanted:
        (tmp_path / Path(name).name).write_text(files[name])
    (tmp_path / "main.c").write_text(_MAIN)
    (tmp_path / "zephyr.ld").write_text(_SCRIPT)
    flags = ("-mcpu=cortex-m4", "-Os", "-ffunction-sections", "-fdata-sections", "-DSOLDER_FUNCTIONS")
    link = ("-nostartfiles", "-Wl,--gc-sections", "-T", "zephyr.ld")
    sources = ("main.c", "gadget.c", "solder_function.c")
    subprocess.run(
        ["arm-none-eabi-gcc", *flags, *sources, *link, "-o", "program.elf"], cwd=tmp_path, check=True
    )
    listed = subprocess.run(
        ["arm-none-eabi-nm", "program.elf"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    places = {name: int(place, 16) for place, _, name in map(str.split, listed.stdout.splitlines())}
    table = places["__stop_solder_functions"] - places["__start_solder_functions"]
    assert table == 4 * files["src/gadget.c"].count("\nSOLDER_FUNCTION(")
    assert {"solder_function_weigh", "solder_function_peak"} <= places.keys()


@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("name", ["mps2-an385", "native-sim"])
def test_functions_are_called_by_name_under_zephyr(name, tmp_path, zephyr_tree, require_tool):
    require_tool("west", "ninja")
    digits = Path(deploy.__file__).parent / "demo" / "digits.tflite"
    compiled = deploy.compile(digits, board=name)
    deploy.new(compiled, tmp_path / "p", platform="zephyr", functions=[GADGET])
    with deploy.connect(tmp_path / "p") as device:
        assert device.call("weigh", 3, np.arange(16, dtype=np.uint8)) == 3 * sum(range(16))
        samples = device.array(np.linspace(0, 1, 600, dtype=np.float32))
        device.call("amplify", 2.0, samples)
        assert device.call("peak", samples) == 2.0


def test_the_module_holds_the_model_and_nothing_of_the_server(tiny):
    files = PLATFORM.files(tiny, AN385, App.RPC)
    assert {name for name in files if name.startswith("model/")} == {
        *("model/CMakeLists.txt", "model/Kconfig", "model/zephyr/module.yml"),
        *("model/include/tiny.h", "model/include/solder_model.h"),
        *("model/src/tiny.c", "model/src/tiny_weights.c", "model/src/tiny_weights.h"),
    }
    assert "src/tiny_describe.c" in files


def test_a_standalone_application_holds_no_server(tiny):
    files = PLATFORM.files(tiny, AN385, App.STANDALONE)
    assert {name for name in files if name.startswith("src/")} == {
        *("src/main.c", "src/port.c", "src/port.h", "src/runtime/solder_port.h"),
    }


def test_the_console_is_the_programs_where_no_server_speaks_there(tiny):
    settings = {app: PLATFORM.files(tiny, AN385, app)["prj.conf"] for app in (App.RPC, App.STANDALONE)}
    assert "CONFIG_PRINTK=n" in settings[App.RPC]
    assert "CONFIG_PRINTK=y" in settings[App.STANDALONE]
    assert "CONFIG_UART_CONSOLE=n" not in settings[App.STANDALONE]


def test_an_uart_that_does_not_start_ends_as_a_panic_and_not_in_a_loop(tiny):
    begin = (
        PLATFORM.files(tiny, AN385, App.RPC)["src/port.c"].split("void port_begin(void)")[1].split("\n}\n")[0]
    )
    assert "if (!device_is_ready(line)) {\n        k_panic();" in begin
    assert "while" not in begin


def test_zephyrs_twister_is_told_the_board(tiny):
    sample = PLATFORM.files(tiny, AN385, App.RPC)["sample.yaml"]
    assert "  sample.tiny:\n    build_only: true\n" in sample
    assert sample.endswith("    platform_allow:\n      - mps2/an385\n")


@pytest.mark.slow
@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_every_zephyr_board_gives_an_application(tiny, board):
    files = PLATFORM.files(tiny, board, App.RPC)
    assert f"west build -b {board.platforms['zephyr']['board']}" in files["README.md"]
    assert "solder_port_ticks" in files["src/port.c"]


def test_west_builds_with_this_command_line():
    assert " ".join(west_build("mps2/an385", "build", profile=False)) == (
        "west build --pristine auto --board mps2/an385 --build-dir build ."
    )
    assert " ".join(west_build("mps2/an385", "build/profile", profile=True)).endswith(
        " --build-dir build/profile . -- -DCONFIG_SOLDER_LAYER_HOOK=y"
    )


def a_tree(folder: Path, major: int, minor: int) -> Path:
    (folder / "VERSION").write_text(f"VERSION_MAJOR = {major}\nVERSION_MINOR = {minor}\nPATCHLEVEL = 1\n")
    return folder


def test_a_board_is_named_as_the_tree_at_hand_names_it(tmp_path, monkeypatch, tiny):
    board = load_board("mps3-an547")
    for version, name in (((3, 7), "mps3/an547"), ((4, 0), "mps3/corstone300/an547")):
        monkeypatch.setenv("ZEPHYR_BASE", str(a_tree(tmp_path, *version)))
        assert name in PLATFORM.commands(tmp_path, board).all[0]
    monkeypatch.delenv("ZEPHYR_BASE")
    assert "mps3/an547" in PLATFORM.commands(tmp_path, board).all[0]
    readme = PLATFORM.files(tiny, board, App.RPC)["README.md"]
    assert "west build -b mps3/an547  # since Zephyr 4.0: mps3/corstone300/an547\n" in readme


def test_versions_are_compared_as_numbers(tmp_path):
    assert tree_version(a_tree(tmp_path, 4, 10)) > (4, 9) > (3, 7)


def test_a_tree_that_is_too_old_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setenv("ZEPHYR_BASE", str(a_tree(tmp_path, 3, 6)))
    with pytest.raises(ToolError, match=r"Zephyr 3\.6\.1 is older than 3\.7, the oldest supported version"):
        find_west()


def test_no_tree_is_reported_with_the_way_to_get_one(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    monkeypatch.delenv("ZEPHYR_BASE", raising=False)
    refused(
        lambda: find_west(),
        "Zephyr build ZEPHYR_BASE 3.7 docs.zephyrproject.org Getting Started install newer "
        "ZEPHYR_BASE=.../zephyr export",
        ToolError,
    )


EMULATED = ("mps2-an385", "mps2-an521", "mps3-an547", "qemu-cortex-m3", "native-sim")


@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("name", EMULATED)
def test_a_model_runs_under_zephyr_bit_for_bit(name, tmp_path, run_deploy, zephyr_tree, require_tool):
    require_tool("west", "ninja")
    file = tmp_path / "residual.tflite"
    file.write_bytes(TINY["residual"]())
    graph = load_model(file)
    (given,) = graph.inputs
    series = np.random.default_rng(5).integers(-128, 128, (4, *graph.types[given].shape), dtype=np.int8)
    np.savez(tmp_path / "in.npz", input_0=series)
    project, archive = tmp_path / "p", tmp_path / "m.tar"
    assert run_deploy("compile", file, "--board", name, "-o", archive).status == 0
    assert run_deploy("new", archive, project, "--board", name, "--platform", "zephyr").status == 0
    words = ("run", project, "--inputs", tmp_path / "in.npz", "--output", tmp_path / "out.npz", "--json")
    outcome = run_deploy(*words)
    assert outcome.status == 0, outcome.err
    wanted = [next(iter(run_graph(graph, {given: sample}).values())) for sample in series]
    np.testing.assert_array_equal(np.load(tmp_path / "out.npz")["output_0"], np.stack(wanted))
    if name != "native-sim":  # no time passes there while a program computes
        assert_counts_instructions(json.loads(outcome.out)["instructions"])


def assert_counts_instructions(per_run: dict[str, float]) -> None:
    """Each run of this model takes the same way, and Zephyr's own interrupts are next to nothing."""
    assert 10_000 < per_run["min"] <= per_run["max"] < 1.01 * per_run["min"]


FAULTS = (
    (2, r"stack overflow after a call in depth \(tiny\.c:\d+\)"),
    (3, r"usage fault in tiny_run \(tiny\.c:\d+\)"),
    (4, r"watchdog reset in tiny_run \(tiny\.c:\d+\)"),
)


@pytest.mark.qemu
@pytest.mark.slow
def test_a_crash_under_zephyr_comes_back_as_a_named_fault(crashing, tmp_path, zephyr_tree, require_tool):
    require_tool("west", "ninja")
    PLATFORM.generate(crashing, tmp_path / "p", AN521, App.RPC)
    firmware = PLATFORM.build(tmp_path / "p", AN521)
    deadlines = Deadlines(hello_s=60.0, answer_s=60.0, run_s=60.0, device_run_s=5.0, retry_s=4.0)
    session = Session(
        PLATFORM.open_line(firmware, AN521), deadlines, locate=lambda pc: place_at(firmware.elf, pc)
    )
    try:
        for how, fault in FAULTS:
            session.hello()
            model = session.describe()[0]
            session.write_input(model, 0, bytes([how, 0, 0, 0]))
            with pytest.raises(DeviceCrashedError, match=fault):
                session.run(model)
    finally:
        session.close()


# Where a chip's maker's files lie in a workspace, which need not hold all of them.
MODULES = {"nrf": "nordic", "nucleo": "stm32", "stm32": "stm32", "b-u585i": "stm32", "portenta": "stm32"}
MODULES |= {"nano-33": "nordic", "xiao": "nordic", "rpi": "rpi_pico", "arduino-due": "atmel", "wio": "atmel"}


def require_module(board: str) -> None:
    module = next(folder for name, folder in MODULES.items() if board.startswith(name))
    if not (Path(os.environ["ZEPHYR_BASE"]).parent / "modules/hal" / module).is_dir():
        pytest.skip(f"needs Zephyr's module hal_{module} beside its tree")


@pytest.mark.slow
@pytest.mark.parametrize("name", [board.name for board in BOARDS if board.status is BoardStatus.BUILD_TESTED])
def test_firmware_for_a_real_board_is_built(name, tmp_path, run_deploy, zephyr_tree, require_tool):
    require_tool("west", "ninja")
    require_module(name)
    file = tmp_path / "dense.tflite"
    file.write_bytes(TINY["dense"]())
    assert run_deploy("compile", file, "--board", name, "-o", tmp_path / "m.tar").status == 0
    words = ("new", tmp_path / "m.tar", tmp_path / "p", "--board", name, "--platform", "zephyr")
    assert run_deploy(*words).status == 0
    outcome = run_deploy("build", tmp_path / "p")
    assert outcome.status == 0, outcome.err
    flash = run_deploy("flash", tmp_path / "p", "--runner", "west", "--dry-run").out
    assert flash.startswith(f"west flash --build-dir {tmp_path / 'p/build'}")
