"""Firmware for cores without boards, for Helium without an FPU, and with link-time optimization."""

import re
import subprocess
from dataclasses import replace

import pytest
from every_board import EVERY_BOARD
from tiny_models import TINY

from aot.target import Feature
from boards.board import BoardStatus
from boards.cores import core_names, load_core
from codegen.job import import_model
from codegen.options import CompileOptions
from deploy.compiler.compile_model import compile_for
from deploy.devices.connection_options import LineOptions
from deploy.devices.firmware import prepare_compiled
from deploy.inputs.samples import random_samples
from deploy.verification.verify_model import verify_model
from platforms.base import BuildChoices, platform_of
from platforms.board_files import load_board
from platforms.elf import sizes
from platforms.project import App
from platforms.rpc.deadlines import Deadlines
from platforms.rpc.session import Session

EMULATED = {board.core.name for board in EVERY_BOARD if board.status is BoardStatus.EMULATED_TESTED}
CORES = tuple(load_core(name) for name in core_names() if name not in EMULATED)


@pytest.mark.arm
@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["arm-none-eabi-gcc", "zig"])
@pytest.mark.parametrize("core", [c for c in CORES if c.machine == "arm"], ids=lambda core: core.name)
def test_firmware_is_built_for_a_core(core, compiler, tiny, tmp_path, require_tool, require_package):
    require_package("ziglang") if compiler == "zig" else require_tool(compiler)
    board = replace(load_board("mps2-an385"), core=core, features=core.has | core.can_have)
    platform = platform_of(board, "baremetal")
    platform.generate(tiny, tmp_path / "project", board, App.RPC)
    firmware = platform.build(tmp_path / "project", board, BuildChoices(toolchain=compiler))
    assert sizes(firmware.elf).flash > 0


BOARD = load_board("mps3-an547")
WITHOUT_FPU = replace(BOARD, features=BOARD.features - {Feature.FPU})


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.parametrize("compiler", ["arm-none-eabi-gcc", "zig"])
def test_helium_without_an_fpu_computes_the_references_bits(
    compiler, tmp_path, require_tool, require_package
):
    if compiler == "zig":
        require_package("ziglang")
    else:
        require_tool(compiler)
    path = tmp_path / "conv.tflite"
    path.write_bytes(TINY["conv"]())
    options = CompileOptions()
    compiled = compile_for(import_model(path, options), WITHOUT_FPU, options)
    assert any("vmladav" in text for text in compiled.model.sources.values())
    verdict = verify_model(
        prepare_compiled(compiled),
        random_samples(compiled.artifact.facts.inputs, 2),
        layers=False,
        build=BuildChoices(compiler),
        line=LineOptions(),
    )
    assert verdict.equal, verdict


WAITS = Deadlines(hello_s=60, answer_s=60, run_s=60, device_run_s=5, retry_s=4, retry_most_s=60)
GCC = {"qemu-riscv32": "riscv64-unknown-elf-gcc"}
RUNNERS = {"qemu-riscv32": "qemu-riscv32", "mps2-an386": "qemu"}


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.parametrize("app", [App.RPC, App.STANDALONE], ids=lambda app: app.value)
@pytest.mark.parametrize("name", ["mps2-an386", "qemu-microbit", "qemu-riscv32", "nucleo-f446re", "rpi-pico"])
def test_firmware_links_with_link_time_optimization(name, app, tiny, tmp_path, require_tool):
    compiler = GCC.get(name, "arm-none-eabi-gcc")
    for tool in (compiler, *(["qemu-system-arm", "qemu-system-riscv32"] if name in RUNNERS else [])):
        require_tool(tool)
    board = load_board(name)
    platform = platform_of(board, "baremetal")
    platform.generate(tiny, tmp_path / "app", board, app)
    for flags in ("compile", "gcc/link"):
        file = tmp_path / "app" / "flags" / flags
        file.write_text(f"{file.read_text()}-flto\n")
    firmware = platform.build(tmp_path / "app", board, BuildChoices(compiler))
    if app is not App.RPC or name not in RUNNERS:
        return
    session = Session(platform.open_line(firmware, board, RUNNERS[name]), WAITS)
    try:
        session.hello()
        model = session.describe()[0]
        session.write_input(model, 0, bytes([1, 2, 127, 255]))
        session.run(model)
        assert session.read_output(model, 0) == bytes([2, 3, 128, 0])
    finally:
        session.close()


WAITING = """\
#include "deadline.c"
void wait(void);
void wait(void)
{
    const uint32_t start = solder_port_milliseconds();
    while (solder_port_milliseconds() == start) {
    }
}
"""


@pytest.mark.arm
def test_a_loop_that_waits_for_an_interrupt_reads_what_it_writes(repo_root, tmp_path):
    templates = repo_root / "project_templates"
    (tmp_path / "wait.c").write_text(WAITING)
    (tmp_path / "board.h").write_text(
        "#include <stdint.h>\n#define BOARD_CLOCK_HZ 25000000u\n"
        "#define BOARD_REGISTER(place) (*(volatile uint32_t *)(place))\n"
    )
    folders = [f"-I{folder}" for folder in (tmp_path, templates / "cortex_m", templates / "common")]
    argv = [
        "arm-none-eabi-gcc",
        "-mthumb",
        "-mcpu=cortex-m4",
        "-O2",
        *folders,
        "-S",
        "wait.c",
        "-o",
        "wait.s",
    ]
    subprocess.run(argv, cwd=tmp_path, check=True)
    body = (tmp_path / "wait.s").read_text().partition("\nwait:\n")[2].partition(".size\twait")[0]
    (loop,) = re.findall(r"^(\.L\d+):\n((?:\t.*\n)*?)\tb\w*\t\1\n", body, re.MULTILINE)
    assert "ldr\t" in loop[1], body
