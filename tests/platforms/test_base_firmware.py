"""What is said of fitting is what a build makes: base firmware is counted, for all boards built here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from aot.errors import FitError
from codegen.job import import_model
from codegen.options import CompileOptions
from deploy.compiler.compile_model import compile_for
from platforms.base import platform_of
from platforms.board_files import all_boards, load_board
from platforms.elf import sizes
from platforms.project import App, project_source

SHAPES = Path(__file__).parents[1] / "models" / "shapes.tflite"
DIGITS = Path(__file__).parents[2] / "deploy" / "demo" / "digits.tflite"
MOST = 0.02  # of the memory
COUNTED = [board.name for board in all_boards() if board.base_firmware is not None]
COMPILERS = ("arm-none-eabi-gcc", "riscv64-unknown-elf-gcc", "gcc")


def said_and_built(name: str, folder: Path, model: Path) -> dict[str, tuple[int, int, int]]:
    """By role: the bytes that were said, those that were built, and the memory of the board."""
    board = load_board(name)
    assert board.base_firmware is not None
    platform = platform_of(board, board.base_firmware.platform)
    compiled = compile_for(import_model(model, CompileOptions()), board, CompileOptions())
    assert compiled.report.counts_firmware
    platform.generate(project_source(compiled.artifact), folder, board, App.RPC)
    built = sizes(platform.build(folder, board).elf)
    said, there = compiled.report.needed_bytes, board.target
    # The system gives a program on the host its stack.
    stack = 0 if board.base_firmware.stack_bytes else compiled.artifact.facts.stack_bytes_estimate
    return {
        "ram": (said("ram") - stack, built.ram, there.ram_bytes),
        "flash": (said("flash"), built.flash, there.flash_bytes),
    }


@pytest.mark.slow
@pytest.mark.arm
@pytest.mark.parametrize("name", COUNTED)
def test_what_is_said_of_a_board_is_what_a_build_makes(
    name: str, tmp_path: Path, require_tool: Callable[..., None]
) -> None:
    require_tool(*COMPILERS)
    for role, (said, built, there) in said_and_built(name, tmp_path / "p", DIGITS).items():
        assert abs(said - built) <= MOST * there, f"{role}: {said:,} said, {built:,} built"


@pytest.mark.arm
def test_firmware_for_16_kib_is_built_where_it_is_said_to_fit(
    tmp_path: Path, require_tool: Callable[..., None]
) -> None:
    require_tool("arm-none-eabi-gcc")
    said, built, there = said_and_built("qemu-microbit", tmp_path / "p", DIGITS)["ram"]
    assert built <= there
    assert abs(said - built) <= MOST * there


def test_memory_is_left_for_the_firmware() -> None:
    """The model alone would fit; with the server it does not, and each part is named."""
    board = load_board("qemu-microbit")
    regions = tuple(replace(r, bytes=3800) if r.role == "ram" else r for r in board.regions)
    model = import_model(DIGITS, CompileOptions())
    with pytest.raises(FitError, match="firmware with the model needs about") as caught:
        compile_for(model, replace(board, regions=regions), CompileOptions())
    for part in ("arena", "stack, estimated", "server and C library, as built", "stack of the server"):
        assert part in caught.value.where
    alone = replace(board, name="unmeasured", regions=regions)
    report = compile_for(model, alone, CompileOptions()).report
    assert report.fits
    assert not report.counts_firmware
