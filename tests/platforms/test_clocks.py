"""Clocks come out the same whatever a bootloader left in the registers, and no PLL changes while it runs."""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from platforms.base import platform_of
from platforms.board_files import load_board
from platforms.project import App

# Hardware that does what it is told at once: oscillators get ready, the core runs on the source chosen.
_HARDWARE = """\
#include <stdio.h>
#include <string.h>
#include "{clock}"

static int was_on, changed_while_on;
static uint32_t numbers;

static void work(void)
{{
    RCC->CR = (RCC->CR & ~{ready}) | ((RCC->CR & {on}) << {shift}) | ((RCC->CR & 0x15000000u) << 1);
    RCC->CFGR = (RCC->CFGR & ~{runs_on}) | ((RCC->CFGR & {source}) << {source_bits});
    if (was_on && RCC->PLLCFGR != numbers) {{
        changed_while_on = 1;
    }}
    was_on = RCC->CR >> 25 & 1u;
    numbers = RCC->PLLCFGR;
}}

int board_becomes(const volatile uint32_t *place, uint32_t mask, uint32_t wanted)
{{
    work();
    {more}
    return (*place & mask) == wanted;
}}

int main(int argc, char **argv)
{{
    (void)argv;
    {start}
    work();
    changed_while_on = 0;
    clock_init();
    clock_of_uart();
    printf("%d %lu", changed_while_on, (unsigned long)board_clock_hz);
    {show}
    return argc > 9;
}}
"""

_F4 = {
    "on": "1u",
    "ready": "0x2A000002u",
    "shift": "1",
    "source": "3u",
    "runs_on": "0xCu",
    "source_bits": "2",
    "left": ("RCC->CR = 0x05010000u", "RCC->CFGR = 0xFFFFFFFEu", "PWR->CR = 0x4000u"),
    "shown": ("RCC->CFGR & 0xFCF3u", "PWR->CR & 0xC000u", "RCC->PLLCFGR & 0xFFFFFFFu"),
}
FAMILIES: dict[str, dict[str, Any]] = {
    "nucleo-f446re": _F4,
    "nucleo-f401re": _F4,
    "nucleo-l476rg": {
        **_F4,
        "on": "0x100u",
        "ready": "0x2A000400u",
        "shift": "2",
        "left": ("RCC->CR = 0x05010000u", "RCC->CFGR = 0xFFFFFFFEu"),
        "shown": ("RCC->CFGR & 0x3FF3u", "RCC->PLLCFGR"),
    },
    "nucleo-h743zi": {
        "on": "1u",
        "ready": "0x2A000004u",
        "shift": "2",
        "source": "7u",
        "runs_on": "0x38u",
        "source_bits": "3",
        "more": "PWR->CSR1 |= 1u << 13; PWR->D3CR |= 1u << 13;",
        "left": (
            "RCC->CR = 0x05010018u",
            "RCC->CFGR = 0xFFFFFFFAu",
            "RCC->D2CCIP2R = ~0u",
            "PWR->D3CR = 0x4000u",
        ),
        "shown": ("RCC->CFGR & 7u", "RCC->CR & 0x18u", "PWR->D3CR & 0xC000u", "RCC->D2CCIP2R & 7u"),
    },
}


def program(clock: Path, family: Mapping[str, Any]) -> str:
    """A program that starts the clocks from reset, or from what a bootloader left, and prints them."""
    left = "; ".join((*family["left"], "RCC->PLLCFGR = 0xFFFFFFu"))
    shown = "".join(f'printf(" %lx", (unsigned long)({each}));' for each in family["shown"])
    words = {"more": "", **family, "start": f"if (argc > 1) {{ {left}; }}", "show": shown, "clock": clock}
    return _HARDWARE.format(**words)


@pytest.mark.cc
@pytest.mark.parametrize("name", FAMILIES)
def test_what_a_bootloader_left_changes_no_clock(name, tiny, tmp_path):
    board = load_board(name)
    platform_of(board, "baremetal").generate(tiny, tmp_path / "app", board, App.STANDALONE)
    folder = tmp_path / "app" / "src" / "board"
    (registers,) = folder.glob("registers*.h")
    address, here = r"#define (\w+) \(\((\w+_TypeDef) \*\)0x\w+\)", r"static \2 its_\1;\n#define \1 (&its_\1)"
    text, made = re.subn(address, here, registers.read_text())
    assert made > 2
    registers.write_text(text)
    (clock,) = (file for file in folder.glob("*.c") if "void clock_init(void)" in file.read_text())
    (tmp_path / "test.c").write_text(program(clock, FAMILIES[name]))
    folders = [f"-I{folder}", f"-I{tmp_path / 'app' / 'src'}", f"-I{tmp_path / 'app' / 'src' / 'runtime'}"]
    argv = ["cc", "-std=c99", "-Wno-unused", *folders, "test.c", "-o", "test"]
    subprocess.run(argv, cwd=tmp_path, check=True)
    after_reset, after_bootloader = (
        subprocess.run(["./test", *words], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        for words in ([], ["bootloader"])
    )
    assert after_reset.startswith(f"0 {board.clock_hz} ")
    assert after_bootloader == after_reset
