"""Firmware of this package has constants in RAM if the flash of its board waits; plain sources do not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from codegen.options import CDialect, CompileOptions
from deploy.compiler.compile_model import options_in_firmware
from platforms.board_files import load_board


@pytest.mark.parametrize(("board", "places"), [("nucleo-l4r5zi", True), ("mps2-an386", False)])
def test_constants_go_to_ram_where_flash_waits(board: str, places: bool) -> None:
    assert options_in_firmware(load_board(board), CompileOptions()).place is places


@pytest.mark.parametrize(
    "options",
    [
        CompileOptions(tables=True),
        CompileOptions(dialect=CDialect.STRICT),
        CompileOptions(shapes={"x": ((1, 2), 4)}),
    ],
)
def test_what_forbids_that_is_left_as_it_is(options: CompileOptions) -> None:
    assert options_in_firmware(load_board("nucleo-l4r5zi"), options) == options


def test_all_else_stays() -> None:
    options = CompileOptions(ram_bytes=9000)
    assert options_in_firmware(load_board("nucleo-l4r5zi"), options) == replace(options, place=True)
