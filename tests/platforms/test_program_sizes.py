"""The stack is not part of the flash, whichever linker has placed it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from platforms.baremetal import PLATFORM
from platforms.base import BuildChoices
from platforms.board_files import load_board
from platforms.elf import sizes
from platforms.project import App, ProjectSource

STACK_BYTES = 40_000


@pytest.mark.cc
def test_more_stack_is_more_ram_and_no_more_flash(
    tiny: ProjectSource, tmp_path: Path, require_package: Callable[..., None]
) -> None:
    require_package("ziglang")
    board = load_board("mps2-an386")

    def built(name: str, source: ProjectSource) -> Path:
        PLATFORM.generate(source, tmp_path / name, board, App.STANDALONE)
        return PLATFORM.build(tmp_path / name, board, BuildChoices(toolchain="zig")).elf

    script = tmp_path / "more" / "board.ld"
    few = sizes(built("few", tiny))
    PLATFORM.generate(tiny, script.parent, board, App.STANDALONE)
    text = script.read_text(encoding="utf-8")
    more_stack = text.replace("board_stack_low = .;", f"board_stack_low = .;\n        . += {STACK_BYTES};")
    assert more_stack != text
    script.write_text(more_stack, encoding="utf-8")
    more = sizes(PLATFORM.build(script.parent, board, BuildChoices(toolchain="zig")).elf)
    assert (more.flash, more.ram) == (few.flash, few.ram + STACK_BYTES)
