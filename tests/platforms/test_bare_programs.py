"""Programs on bare metal run without end, take hooks of the user's own, and start anew after a fault."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from platforms.base import Firmware, platform_of
from platforms.board_files import load_board
from platforms.elf import symbols
from platforms.project import App
from platforms.transport.base import LineClosedError

GCC = "arm-none-eabi-gcc"
EMULATED = "qemu-netduinoplus2"
Build = Callable[..., Firmware]


def _lines(build: Firmware, count: int) -> list[str]:
    """The first lines that a program in the emulator prints."""
    line = platform_of(load_board(EMULATED)).open_line(build, load_board(EMULATED), "qemu")
    out = b""
    try:
        while out.count(b"\n") < count and (part := line.read(256, 20.0)):
            out += part
    except LineClosedError as end:
        pytest.fail(f"it ended: {end.what}")
    finally:
        line.close()
    return out.decode().splitlines()[:count]


@pytest.mark.arm
@pytest.mark.qemu
def test_a_standalone_program_runs_without_end(
    bare_firmware: Build, require_tool: Callable[[str], None]
) -> None:
    require_tool(GCC)
    require_tool("qemu-system-arm")
    assert _lines(bare_firmware(EMULATED, App.STANDALONE), 3) == ["y: 1 1 1 1"] * 3


HOOKS = """
#include <stdint.h>
#include "board.h"
int app_inputs(int8_t *x);
void app_outputs(const int8_t *y);
void app_sleep(void);
void board_interrupt(uint32_t number);
static void tell(char what) { const uint8_t text[2] = {(uint8_t)what, '\\n'}; uart_write(text, 2); }
static int turns;
int app_inputs(int8_t *x) { x[0] = 4; return turns++ % 2; }
void app_outputs(const int8_t *y)
{
    tell((char)('0' + y[0]));
    BOARD_REGISTER(0xE000E104u) = 1u << 6; /* 38 is on */
    BOARD_REGISTER(0xE000E204u) = 1u << 6; /* and comes */
}
void app_sleep(void) { tell('s'); }
void board_interrupt(uint32_t number) { tell(number == 38u ? 'i' : '?'); }
"""


@pytest.mark.arm
@pytest.mark.qemu
def test_hooks_of_the_users_own_take_the_place_of_the_weak_ones(
    bare_firmware: Build, require_tool: Callable[[str], None]
) -> None:
    require_tool(GCC)
    require_tool("qemu-system-arm")
    program = bare_firmware(EMULATED, App.STANDALONE, {"src/mine.c": HOOKS})
    assert _lines(program, 6) == ["s", "5", "i", "s", "5", "i"]


FAULTS = """
#include <stdint.h>
int app_inputs(int8_t *x);
int app_inputs(int8_t *x) { (void)x; return *(volatile int *)0xF0000000; }
"""


@pytest.mark.arm
@pytest.mark.qemu
def test_a_fault_without_a_debugger_is_reported_and_the_board_starts_anew(
    bare_firmware: Build, require_tool: Callable[[str], None]
) -> None:
    require_tool(GCC)
    require_tool("qemu-system-arm")
    program = bare_firmware(EMULATED, App.STANDALONE, {"src/mine.c": FAULTS})
    told = _lines(program, 3)
    assert len(set(told)) == 1
    found = re.fullmatch(r"fault at 0x([0-9a-f]{8}), called from 0x[0-9a-f]{8}", told[0])
    assert found, told
    place = next(s for s in symbols(program.elf) if s.name == "app_inputs")
    assert (place.address & ~1) <= int(found[1], 16) < (place.address & ~1) + place.bytes
