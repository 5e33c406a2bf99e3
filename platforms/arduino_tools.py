"""The programs that build Arduino sketches, arduino-cli and Debian's arduino-builder, by their argv."""

from __future__ import annotations

import functools
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

from aot.errors import ToolError, did_you_mean
from platforms.build import Commands
from platforms.toolchains import Toolchain

HARDWARE = "/usr/share/arduino/hardware"  # where Debian's arduino-core-avr lies
BUILDER = "/usr/share/arduino-builder"  # where its own patterns lie
# Debian's gcc-avr 5.4 does not define what the core's Print.cpp asks for.
CORE_NEEDS = "compiler.cpp.extra_flags=-DDECIMAL_DIG=__DECIMAL_DIG__"
# The same compiler would describe lines in a format that is no longer read: faults could not be placed.
LINES = "compiler.c.elf.extra_flags=-gdwarf-2"
HOOK = "compiler.c.extra_flags=-DSOLDER_LAYER_HOOK"
WAY_OUT = (
    "arduino-cli is at arduino.github.io/arduino-cli; then: arduino-cli core install PACKAGE:ARCHITECTURE\n"
    "for AVR on Debian: apt install arduino-builder arduino-core-avr"
)
_VERSION_TIMEOUT_S = 30


@dataclass(frozen=True, slots=True)
class ArduinoTool:
    toolchain: Toolchain
    commands: Callable[[str, str, str, str, bool], Commands]  # library, FQBN, sketch, build folder, profile


def cli_commands(_library: str, fqbn: str, sketch: str, build: str, profile: bool) -> Commands:
    """With arduino-cli; it runs in the library's folder."""
    hook = ("--build-property", HOOK) if profile else ()
    argv = ("arduino-cli", "compile", "--fqbn", fqbn, "--library", ".", "--build-path", build, *hook, sketch)
    return Commands((argv,))


def builder_commands(library: str, fqbn: str, sketch: str, build: str, profile: bool) -> Commands:
    """With arduino-builder, which takes libraries only as folders of one folder."""
    libraries = "build/sketchbook"
    name = sketch.rpartition("/")[2]
    hook = ("-prefs", HOOK) if profile else ()
    argv = (
        *(
            "arduino-builder",
            "-compile",
            "-hardware",
            HARDWARE,
            "-hardware",
            BUILDER,
            "-tools",
            HARDWARE,
            "-fqbn",
            fqbn,
        ),
        *("-libraries", libraries, "-build-path", build, "-prefs", CORE_NEEDS, "-prefs", LINES, *hook),
        f"{sketch}/{name}.ino",
    )
    folders = ("mkdir", "-p", libraries, build)
    return Commands((folders, ("ln", "-sfn", "../..", f"{libraries}/{library}"), argv))


_TOOLS = {
    "arduino-cli": (cli_commands, ("version",)),
    "arduino-builder": (builder_commands, ("-version",)),
}


def find_arduino_tool(prefer: str | None = None) -> ArduinoTool:
    """The preferred program, or the first that is found."""
    if prefer is not None and prefer not in _TOOLS:
        raise ToolError(
            f'toolchain "{prefer}" does not build sketches{did_you_mean(prefer, _TOOLS)}',
            hint=f"known for Arduino: {', '.join(_TOOLS)}",
        )
    wanted = [prefer] if prefer else list(_TOOLS)
    found = next((name for name in wanted if shutil.which(name)), None)
    if found is None:
        raise ToolError(
            "no program that builds sketches was found", f"looked for {', '.join(wanted)}", WAY_OUT
        )
    commands, _ = _TOOLS[found]
    return ArduinoTool(_toolchain(found), commands)


def found_tools() -> dict[str, str]:
    """Each program's version, or nothing where it is not there."""
    return {name: _toolchain(name).version if shutil.which(name) else "" for name in _TOOLS}


@functools.cache
def _toolchain(name: str) -> Toolchain:
    _, ask = _TOOLS[name]
    path = shutil.which(name) or name
    done = subprocess.run(
        (path, *ask), capture_output=True, text=True, timeout=_VERSION_TIMEOUT_S, check=False
    )
    lines = (done.stdout or done.stderr).strip().splitlines()
    return Toolchain(name, "arduino", (path,), lines[0] if lines else name)
