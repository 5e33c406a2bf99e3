"""Chip families with the same clock, pin and UART code: template files and the values for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aot.errors import BoardError
from boards.bare_chip import BareChip, ChipUart

Words = dict[str, Any]
_DIVIDER_CODES = {1: 0, 2: 4, 4: 5, 8: 6, 16: 7}  # of ST's bus clocks
_F4_INTERNAL_HZ = _L4_INTERNAL_HZ = 16_000_000
_F4_PLL_IN_HZ = 2_000_000  # the maximum, for the least PLL jitter
_F4_VCO_HZ = (192_000_000, 432_000_000)
_L4_PLL_IN_HZ = 16_000_000
_L4_VCO_HZ = (64_000_000, 344_000_000)
_H7_PLL_IN_HZ = 4_000_000
_H7_VCO_HZ = (192_000_000, 960_000_000)
_H7_UNBOOSTED_HZ = 400_000_000
_RP2_VCO_HZ = (750_000_000, 1_600_000_000)
_RP2_POSTS = range(1, 8)


@dataclass(frozen=True, slots=True)
class Pin:
    """A pin in the family's numbering."""

    port: str
    number: int
    function: int  # alternate function of the UART, if the family has such numbers


@dataclass(frozen=True, slots=True)
class ChipFamily:
    """Properties shared by the chips of a family."""

    files: tuple[str, ...]  # templates in project_templates/chips; projects omit ".jinja" and the family
    registers: str  # template of the register definitions
    pin: str  # a regular expression with the groups port, number, function
    pin_example: str
    words: Callable[[BareChip, ChipUart, int], Words]  # clock variables for a frequency. Raises BoardError
    clock_keys: tuple[str, ...]  # required in a chip's table [clock]
    uart_clocks: tuple[str, ...] = ("",)  # legal values of a UART's "clock"
    entropy: str = "own"  # the random source: a file in project_templates/entropy


def read_pin(family: ChipFamily, text: str) -> Pin | None:
    """Returns the pin with this name, or None if the family has no such pin."""
    found = re.fullmatch(family.pin, text)
    if found is None:
        return None
    parts = found.groupdict()
    return Pin(parts.get("port") or "0", int(parts["number"]), int(parts.get("function") or 0))


def _unreachable(chip: BareChip, hz: int, why: str) -> BoardError:
    return BoardError(
        f"{chip.title} cannot run at {hz:,} Hz: {why}",
        hint="set clock_hz in the board file",
    )


def _pll(
    chip: BareChip, hz: int, in_hz: int, vco_hz: tuple[int, int], dividers: tuple[int, ...]
) -> tuple[int, int]:
    """Returns the multiplier and the first divider with which the PLL generates `hz`."""
    for divider in dividers:
        if vco_hz[0] <= hz * divider <= vco_hz[1] and hz * divider % in_hz == 0:
            return hz * divider // in_hz, divider
    raise _unreachable(
        chip,
        hz,
        f"its PLL generates multiples of {in_hz:,} Hz between {vco_hz[0]:,} and {vco_hz[1]:,}, divided",
    )


def _bus_divider(chip: BareChip, hz: int, most_hz: int) -> int:
    for divider in _DIVIDER_CODES:
        if hz <= most_hz * divider:
            return divider
    raise _unreachable(chip, hz, f"the limit of a bus is {most_hz:,} Hz")


def _require_most(chip: BareChip, hz: int) -> None:
    most = chip.clock["most_hz"]
    if hz > most:
        raise _unreachable(chip, hz, f"the limit is {most:,} Hz")


def _stm32f4(power: str, power_state: str, caches: int) -> Callable[[BareChip, ChipUart, int], Words]:
    def words(chip: BareChip, uart: ChipUart, hz: int) -> Words:
        _require_most(chip, hz)
        n, p = _pll(chip, hz, _F4_PLL_IN_HZ, _F4_VCO_HZ, (2, 4, 6, 8))
        by = {bus: _bus_divider(chip, hz, chip.clock[f"{bus}_most_hz"]) for bus in ("apb1", "apb2")}
        return {
            "hz": hz,
            "internal_hz": _F4_INTERNAL_HZ,
            "m": _F4_INTERNAL_HZ // _F4_PLL_IN_HZ,
            "n": n,
            "p": p,
            "q": -(-n * _F4_PLL_IN_HZ // 48_000_000),  # the USB clock, unused here
            "waits": -(-hz // chip.clock["flash_wait_hz"]) - 1,
            "wait_hz": chip.clock["flash_wait_hz"],
            "overdrive": hz > chip.clock["most_without_overdrive_hz"],
            "scale": chip.clock["power_scale"],
            "power": power,
            "power_state": power_state,
            "caches": caches,
            "uart_hz": hz // by[uart.clock],
            **{f"{bus}_by": divider for bus, divider in by.items()},
            **{f"{bus}_code": _DIVIDER_CODES[divider] for bus, divider in by.items()},
        }

    return words


def _stm32l4(chip: BareChip, _uart: ChipUart, hz: int) -> Words:
    _require_most(chip, hz)
    n, r = _pll(chip, hz, _L4_PLL_IN_HZ, _L4_VCO_HZ, (2, 4, 6, 8))
    wait_hz = chip.clock["flash_wait_hz"]
    return {
        "hz": hz,
        "uart_hz": hz,
        "m": 1,
        "n": n,
        "r": r,
        "waits": -(-hz // wait_hz) - 1,
        "wait_hz": wait_hz,
    }


def _stm32h7(chip: BareChip, uart: ChipUart, hz: int) -> Words:
    _require_most(chip, hz)
    n, p = _pll(chip, hz, _H7_PLL_IN_HZ, _H7_VCO_HZ, (2, 4))
    shifts = {"kernel_28": 0, "kernel_16": 3}
    return {
        "hz": hz,
        "m": 16,
        "n": n,
        "p": p,
        "boost": hz > _H7_UNBOOSTED_HZ,
        "kernel_shift": shifts[uart.clock],
    }


def _nrf(pins: str) -> Callable[[BareChip, ChipUart, int], Words]:
    def words(chip: BareChip, _uart: ChipUart, hz: int) -> Words:
        core_hz = chip.clock["core_hz"]
        if hz != core_hz:
            raise _unreachable(chip, hz, f"its clock is {core_hz:,}")
        return {"hz": hz, "pins": pins}

    return words


def _rp2(chip: BareChip, _uart: ChipUart, hz: int) -> Words:
    _require_most(chip, hz)
    crystal_hz = chip.clock["crystal_hz"]
    choices = [
        (first, second)
        for first in _RP2_POSTS
        for second in _RP2_POSTS
        if second <= first
        and _RP2_VCO_HZ[0] <= hz * first * second <= _RP2_VCO_HZ[1]
        and hz * first * second % crystal_hz == 0
    ]
    if not choices:
        raise _unreachable(
            chip, hz, f"its PLL generates multiples of {crystal_hz:,} Hz, divided by two numbers"
        )
    post1, post2 = max(
        choices, key=lambda pair: (pair[0] * pair[1], pair[0])
    )  # a fast oscillator has the least jitter
    facts = dict(chip.clock)
    timer = (facts["reset_timer"],) if "watchdog" in facts else ()
    return {
        "watchdog": 0,
        **facts,
        "hz": hz,
        "times": hz * post1 * post2 // crystal_hz,
        "post1": post1,
        "post2": post2,
        "reset_with_uart": (facts["reset_pins"], facts["reset_pads"], *timer),
    }


_ST_PIN = r"P(?P<port>[A-K])(?P<number>\d|1[0-5]):(?P<function>\d|1[0-5])"
_ST_EXAMPLE = "PA2:7, the port, the number and the alternate function"


def _nrf_family(pins: str) -> ChipFamily:
    """Returns the family of chips whose vendor header uses these register names for pins."""
    return ChipFamily(
        ("clock_nrf.c.jinja", "pins_nrf.c.jinja"),
        "registers_nrf.h.jinja",
        r"P(?P<port>[01])\.(?P<number>[012]?\d|3[01])",
        "P0.06, the port and the number",
        _nrf(pins),
        ("core_hz",),
        entropy="nrf",
    )


_RP2_KEYS = ("crystal_hz", "most_hz", "resets", "clocks", "xosc", "pll_sys", "io_bank0", "pads_bank0")
_RP2_RESETS = ("reset_pll", "reset_pins", "reset_pads")
_F4_KEYS = (
    "most_hz",
    "most_without_overdrive_hz",
    "apb1_most_hz",
    "apb2_most_hz",
    "flash_wait_hz",
    "power_scale",
)


def _rp2_family(start: str) -> ChipFamily:
    return ChipFamily(
        ("clock_rp2.c.jinja", "pins_rp2.c.jinja", start),
        "registers_rp2.h.jinja",
        r"GPIO(?P<number>[012]?\d)",
        "GPIO0",
        _rp2,
        (*_RP2_KEYS, *_RP2_RESETS),
    )


def _st(
    name: str,
    words: Callable[[BareChip, ChipUart, int], Words],
    clock_keys: tuple[str, ...],
    uart_clocks: tuple[str, ...],
) -> ChipFamily:
    files = (f"clock_{name}.c.jinja", "pins_stm32.c.jinja")
    return ChipFamily(
        files, f"registers_{name}.h.jinja", _ST_PIN, _ST_EXAMPLE, words, clock_keys, uart_clocks
    )


_BUSES = ("apb1", "apb2")
FAMILIES: Mapping[str, ChipFamily] = {
    "stm32f4": _st("stm32f4", _stm32f4("CR", "CSR", 0x700), _F4_KEYS, _BUSES),
    "stm32f7": _st("stm32f4", _stm32f4("CR1", "CSR1", 0x300), _F4_KEYS, _BUSES),
    "stm32l4": _st("stm32l4", _stm32l4, ("most_hz", "flash_wait_hz"), ("",)),
    "stm32h7": _st("stm32h7", _stm32h7, ("most_hz",), ("kernel_28", "kernel_16")),
    "nrf52832": _nrf_family("PSEL"),
    "nrf52840": _nrf_family("PSEL."),
    "rp2040": _rp2_family("boot_rp2040.c"),
    "rp2350": _rp2_family("image_rp2350.c"),
}
