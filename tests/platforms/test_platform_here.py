"""Firmware is built with the first platform of a board that this machine can build."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from aot.errors import BoardError, MissingToolError
from deploy.devices.buildable_boards import platform_here
from deploy.host_tools.tool_inventory import ability
from platforms import zephyr
from platforms.board_files import load_board


def no_zephyr(*_: object, **__: object) -> None:
    raise MissingToolError("west is not here", "", "pip install west")


@pytest.mark.arm
def test_a_board_with_gcc_alone_is_built_for_bare_metal(
    monkeypatch: pytest.MonkeyPatch, require_tool: Callable[..., None]
) -> None:
    require_tool("arm-none-eabi-gcc")
    monkeypatch.setattr(zephyr.PLATFORM.__class__, "toolchain", no_zephyr)
    board = load_board("nucleo-f446re")
    assert next(iter(board.platforms)) == "zephyr"
    assert platform_here(board).name == "baremetal"
    found = ability(board)
    assert (found.platform, found.compiler) == ("baremetal", "arm-none-eabi-gcc")


def test_a_board_that_cannot_be_built_says_what_its_first_platform_lacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(zephyr.PLATFORM.__class__, "toolchain", no_zephyr)
    board = replace(load_board("nucleo-f446re"), platforms={"zephyr": {"board": "nucleo_f446re"}})
    found = ability(board)
    assert (found.platform, found.compiler) == (None, None)
    assert found.lacks[0] == "pip install west"


def test_an_esp32_board_without_firmware_is_shown_the_way_of_its_own_tools() -> None:
    with pytest.raises(BoardError) as caught:
        platform_here(load_board("esp32-devkitc"))
    assert "--as esp-idf" in caught.value.hint
