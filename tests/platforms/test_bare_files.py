"""Bare-metal projects: what is refused, makers' headers, programs that run without end."""

import re
import subprocess
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest
from error_facts import refused, require_facts

from aot.errors import BoardError, DeployError
from boards.bare_chip import load_chip
from platforms.bare_board import chip_words
from platforms.base import BuildChoices, Firmware, platform_of
from platforms.board_files import load_board
from platforms.elf import symbols
from platforms.project import App
from platforms.runners.runner import choose_dry
from platforms.transport.base import LineClosedError

GCC = "arm-none-eabi-gcc"


NOT_OURS = """
#include "device.h"
#if !defined THE_MAKERS || defined REGISTERS_H
#error "not the maker's"
#endif
"""
PACK_HEADER = """
#include "core_cm4.h"
#define THE_MAKERS 1
#include "%s"
"""


@pytest.mark.arm
def test_a_makers_header_is_used_where_its_pack_is(tiny, tmp_path, monkeypatch, require_tool):
    require_tool(GCC)
    board = load_board("nucleo-f446re")
    platform = platform_of(board, "baremetal")
    own = platform.files(tiny, board, App.RPC)["src/board/registers.h"]
    for version in ("2.9.0", "2.14.0"):
        folder = tmp_path / "packs" / "Keil" / "STM32F4xx_DFP" / version / "Device Headers"
        folder.mkdir(parents=True)
        (folder / "facts.h").write_text(own.replace("REGISTERS_H", "FACTS_H"))
        (folder / "stm32f446xx.h").write_text(PACK_HEADER % "facts.h")
    core = tmp_path / "packs" / "ARM" / "CMSIS" / "5.9.0" / "Include"
    core.mkdir(parents=True)
    monkeypatch.setenv("CMSIS_PACK_ROOT", str(tmp_path / "packs"))
    platform.generate(tiny, tmp_path / "without", board, App.RPC)  # the core's header is missing
    assert "isystem" not in (tmp_path / "without" / "flags" / "compile").read_text()
    (core / "core_cm4.h").write_text("")
    platform.generate(tiny, tmp_path / "with", board, App.RPC)
    options = (tmp_path / "with" / "flags" / "compile").read_text()
    assert (
        f'"-isystem{(tmp_path / "packs").resolve().as_posix()}/Keil/STM32F4xx_DFP/2.14.0/Device Headers"'
        in options
    )
    assert "-DSTM32F446xx\n" in options
    (tmp_path / "with" / "src" / "board" / "mine.c").write_text(NOT_OURS)
    platform.build(tmp_path / "with", board, BuildChoices(GCC))


def test_a_runner_of_another_platforms_firmware_is_not_chosen():
    assert choose_dry(load_board("nucleo-f446re"), None, "baremetal") != "west"
    with pytest.raises(BoardError) as caught:
        choose_dry(load_board("nucleo-f446re"), "west", "baremetal")
    require_facts(caught.value, "west firmware platform nucleo-f446re runners pyocd")
    only_west = replace(load_board("nucleo-f446re"), runners={"west": {}})
    with pytest.raises(BoardError, match="west cannot run") as caught:
        choose_dry(only_west, None, "baremetal")
    assert caught.value.hint == "runners that can: none; all runners: deploy docs adding-a-board"
    refused(
        lambda: choose_dry(replace(only_west, runners={})),
        "nucleo-f446re deploy runner firmware [runners] --emulated",
        BoardError,
    )


BOARD = """
mcu = "X"
core = "cortex-m4"
clock_hz = 96_000_000
regions = [
  {name = "FLASH", origin = 0x800_0000, bytes = 0x8_0000, role = "flash"},
  {name = "RAM", origin = 0x2000_0000, bytes = 0x1_0000, role = "ram"},
]
counter = {driver = "dwt", hz = 96_000_000, bits = 32}
[platforms.baremetal]
"""
CHIP = """
title = "Some chip"
family = "stm32f4"
interrupts = 9
sources = ["a test"]
[clock]
most_hz = 96_000_000
most_without_overdrive_hz = 96_000_000
apb1_most_hz = 48_000_000
apb2_most_hz = 96_000_000
flash_wait_hz = 30_000_000
power_scale = 0
[uarts.USART9]
driver = "lin"
address = 1
clock = "apb1"
"""
REFUSED = (
    ('chip = "stm32f446"', "uart and tx and rx in addition to chip: the UART and its pins"),
    (
        'chip = "stm32f446"\nuart = "USART9"\ntx = "PA2:7"\nrx = "PA3:7"',
        'a uart that STM32F446 has (USART1, USART2, USART3, UART4, UART5, USART6), not "USART9"',
    ),
    (
        'chip = "stm32f446"\nuart = "USART2"\ntx = "PA2"\nrx = "PA3:7"',
        'tx as PA2:7, the port, the number and the alternate function, not "PA2"',
    ),
    (
        'chip = "some"\nuart = "USART9"\ntx = "PA2:7"\nrx = "PA3:7"',
        'a uart with a supported driver (nrf, pl011, stm32_v1, stm32_v2), not "lin"',
    ),
)


@pytest.mark.parametrize(("table", "lack"), REFUSED)
def test_a_board_that_lacks_something_for_its_chip_is_refused_with_words(table, lack, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "boards" / "chip").mkdir(parents=True)
    (tmp_path / "boards" / "chip" / "some.toml").write_text(CHIP)
    (tmp_path / "mine.toml").write_text(BOARD + table)
    with pytest.raises(DeployError) as caught:
        load_board("mine.toml")
    assert str(caught.value).splitlines()[0] == f"error: the platform baremetal needs {lack}"


def test_an_unknown_chip_is_refused_with_the_known_ones(tmp_path):
    with pytest.raises(BoardError, match='chip "stm32f447" not found - did you mean "stm32f4') as caught:
        load_chip("stm32f447", "mine.toml")
    assert caught.value.hint.startswith("known: nrf51822, nrf52832, ")


CLOCKS_REFUSED = (
    (
        "nucleo-f446re",
        200_000_000,
        "STM32F446 cannot run at 200,000,000 Hz: the limit is 180,000,000 Hz",
    ),
    (
        "nucleo-f446re",
        95_300_000,
        "STM32F446 cannot run at 95,300,000 Hz: "
        "its PLL generates multiples of 2,000,000 Hz between 192,000,000 and 432,000,000, divided",
    ),
    ("nrf52840dk", 32_000_000, "nRF52840 cannot run at 32,000,000 Hz: its clock is 64,000,000"),
    (
        "rpi-pico",
        124_999_999,
        "RP2040 cannot run at 124,999,999 Hz: "
        "its PLL generates multiples of 12,000,000 Hz, divided by two numbers",
    ),
)


@pytest.mark.parametrize(("name", "hz", "said"), CLOCKS_REFUSED)
def test_a_clock_that_a_chip_cannot_have_is_refused_with_words(name, hz, said):
    with pytest.raises(BoardError) as caught:
        chip_words(replace(load_board(name), clock_hz=hz))
    assert caught.value.what == said
    assert caught.value.hint == "set clock_hz in the board file"


@pytest.mark.parametrize(
    ("app", "says"), [(App.RPC, "Serves the model"), (App.STANDALONE, "sleeps in between")]
)
def test_a_projects_readme_says_what_its_program_does(tiny, app, says):
    board = load_board("nrf52840dk")
    assert says in platform_of(board, "baremetal").files(tiny, board, app)["README.md"]


def test_a_streamed_models_program_asks_for_rows(tiny):
    board = load_board("nrf52840dk")
    platform = platform_of(board, "baremetal")
    main = platform.files(replace(tiny, is_streamed=True), board, App.STANDALONE)["src/main.c"]
    assert "__attribute__((weak)) int app_row(int8_t *row)\n" in main
    assert "app_inputs" not in main


EMULATED = "qemu-netduinoplus2"


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
def test_a_standalone_program_runs_without_end(bare_firmware, require_tool):
    require_tool(GCC)
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
def test_hooks_of_the_users_own_take_the_place_of_the_weak_ones(bare_firmware, require_tool):
    require_tool(GCC)
    program = bare_firmware(EMULATED, App.STANDALONE, {"src/mine.c": HOOKS})
    assert _lines(program, 6) == ["s", "5", "i", "s", "5", "i"]


FAULTS = """
#include <stdint.h>
int app_inputs(int8_t *x);
int app_inputs(int8_t *x) { (void)x; return *(volatile int *)0xF0000000; }
"""


@pytest.mark.arm
@pytest.mark.qemu
def test_a_fault_without_a_debugger_is_reported_and_the_board_starts_anew(bare_firmware, require_tool):
    require_tool(GCC)
    program = bare_firmware(EMULATED, App.STANDALONE, {"src/mine.c": FAULTS})
    told = _lines(program, 3)
    assert len(set(told)) == 1
    found = re.fullmatch(r"fault at 0x([0-9a-f]{8}), called from 0x[0-9a-f]{8}", told[0])
    assert found, told
    place = next(s for s in symbols(program.elf) if s.name == "app_inputs")
    assert (place.address & ~1) <= int(found[1], 16) < (place.address & ~1) + place.bytes


_ROUND = """
#include "math.h"
#include <stdio.h>
int main(void)
{
    float v;
    while (fread(&v, sizeof v, 1, stdin) == 1) {
        const float rounded = rintf(v);
        fwrite(&rounded, sizeof rounded, 1, stdout);
    }
    return 0;
}
"""


def test_halves_are_rounded_to_even_where_the_library_lacks_it(require_tool, tmp_path):
    require_tool("cc")
    (tmp_path / "round.c").write_text(_ROUND)
    header, made = str(files("project_templates") / "baremetal"), tmp_path / "round"
    subprocess.run(
        ["cc", "-fno-builtin", "-iquote", header, "-o", made, tmp_path / "round.c", "-lm"], check=True
    )
    drawn = np.random.default_rng(1).normal(0, 1000, 1000)
    ends = (0.0, -0.0, 0.25, -0.3, 1e30, 8388607.5, 4194303.5, np.inf, -np.inf, np.nan)
    values = np.concatenate([np.arange(-40, 41) / 4, drawn, ends]).astype(np.float32)
    found = subprocess.run([made], input=values.tobytes(), check=True, capture_output=True).stdout
    assert found == np.rint(values).tobytes()
