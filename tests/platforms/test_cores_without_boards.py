"""Firmware is built for cores, too, that no emulated board has; on such a board nothing could be run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from every_board import EVERY_BOARD

from boards.board import BoardStatus
from boards.cores import Core, core_names, load_core
from platforms.base import BuildChoices, platform_of
from platforms.board_files import load_board
from platforms.elf import sizes
from platforms.project import App, ProjectSource

EMULATED = {board.core.name for board in EVERY_BOARD if board.status is BoardStatus.EMULATED_TESTED}
CORES = tuple(load_core(name) for name in core_names() if name not in EMULATED)


@pytest.mark.arm
@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["arm-none-eabi-gcc", "zig"])
@pytest.mark.parametrize("core", [c for c in CORES if c.machine == "arm"], ids=lambda core: core.name)
def test_firmware_is_built_for_a_core(
    core: Core,
    compiler: str,
    tiny: ProjectSource,
    tmp_path: Path,
    require_tool: Callable[..., None],
    require_package: Callable[..., None],
) -> None:
    require_package("ziglang") if compiler == "zig" else require_tool(compiler)
    board = replace(load_board("mps2-an385"), core=core, features=core.has | core.can_have)
    platform = platform_of(board, "baremetal")
    platform.generate(tiny, tmp_path / "project", board, App.RPC)
    firmware = platform.build(tmp_path / "project", board, BuildChoices(toolchain=compiler))
    assert sizes(firmware.elf).flash > 0
