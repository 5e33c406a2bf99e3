"""The channel "arduino": a library for the Arduino IDE, arduino-cli and the Library Manager."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from platforms.arduino import ONCE, library_properties, once_sketch, require_near_flash
from platforms.channels.package import Package
from platforms.toolchains import code_flags

SUMMARY = "a library for the Arduino IDE, arduino-cli and the Library Manager"
SUFFIX = ".zip"
_ARM = "mbed,mbed_nano,mbed_rp2040,nrf52,renesas_uno,rp2040,sam,samd,stm32,STMicroelectronics"
_ARCHITECTURES = {"arm": _ARM, "avr": "avr", "riscv": "esp32", "xtensa": "esp32"}  # by Core.machine


def _flags_to_add(flags: Sequence[str]) -> tuple[str, ...]:
    """Returns README lines about compiler options that an Arduino library cannot set."""
    if not flags:
        return ()
    return ("", f"It is fastest with {' '.join(flags)}: `compiler.c.extra_flags` in `platform.local.txt`.")


def files(package: Package) -> Mapping[str, str]:
    source, name, own = package.source, package.name, package.options
    require_near_flash(source, package.artifact.facts.target, name)
    taken = (
        "In the Arduino IDE: Sketch, Include Library, Add .ZIP Library; or copy this folder into the folder",
        "`libraries` of your sketchbook. Then:",
        "",
        f"    #include <{name}.hpp>",
        *_flags_to_add(code_flags(package.artifact.facts.target)),
    )
    architecture = _ARCHITECTURES.get(package.machine, "*")
    return {
        **package.placed_in_cpp("src/", "src/"),
        ONCE: once_sketch(source),
        "library.properties": library_properties(source, own.version, own.author, own.url, architecture),
        **package.papers(taken, f"File, Examples, {name}: once", "cpp"),
    }
