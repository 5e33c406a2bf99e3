"""Commands for building Arduino sketches with arduino-cli or Debian's arduino-builder."""

from __future__ import annotations

import functools
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from aot.errors import MissingToolError, ToolError, did_you_mean
from platforms.build import Commands
from platforms.toolchains import Toolchain

HARDWARE = "/usr/share/arduino/hardware"  # installed by Debian's package arduino-core-avr
BUILDER = "/usr/share/arduino-builder"  # arduino-builder's build patterns
# Debian's gcc-avr 5.4 does not define a macro that the core's Print.cpp uses.
CORE_NEEDS = "compiler.cpp.extra_flags=-DDECIMAL_DIG=__DECIMAL_DIG__"
# By default this compiler writes an obsolete debug format, in which faults cannot be located.
LINES = "compiler.c.elf.extra_flags=-gdwarf-2"
HOOK = "compiler.c.extra_flags=-DSOLDER_LAYER_HOOK"
HINT = (
    "arduino-cli is at arduino.github.io/arduino-cli; then: arduino-cli core install PACKAGE:ARCHITECTURE\n"
    "for AVR on Debian: apt install arduino-builder arduino-core-avr"
)
_VERSION_TIMEOUT_S = 30


@dataclass(frozen=True, slots=True)
class ArduinoTool:
    toolchain: Toolchain
    commands: Callable[[str, str, str, str, bool], Commands]  # of library, FQBN, sketch, build folder, hook


@dataclass(frozen=True, slots=True)
class _Tool:
    commands: Callable[[str, str, str, str, bool], Commands]
    ask_version: tuple[str, ...]
    cores: Callable[[], frozenset[str]]  # returns installed cores as "package:architecture"


def cli_commands(_library: str, fqbn: str, sketch: str, build: str, profile: bool) -> Commands:
    """Returns the arduino-cli command; run it in the library's folder."""
    hook = ("--build-property", HOOK) if profile else ()
    argv = ("arduino-cli", "compile", "--fqbn", fqbn, "--library", ".", "--build-path", build, *hook, sketch)
    return Commands((argv,))


def builder_commands(library: str, fqbn: str, sketch: str, build: str, profile: bool) -> Commands:
    """Returns the arduino-builder commands. It finds libraries only inside a common folder."""
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


def _cores_of_builder() -> frozenset[str]:
    return frozenset(
        f"{path.parent.name}:{path.name}" for path in Path(HARDWARE).glob("*/*") if path.is_dir()
    )


@functools.cache
def _cores_of_cli() -> frozenset[str]:
    done = subprocess.run(
        ("arduino-cli", "core", "list"),
        capture_output=True,
        text=True,
        timeout=_VERSION_TIMEOUT_S,
        check=False,
    )
    return listed_cores(done.stdout)


def listed_cores(text: str) -> frozenset[str]:
    """Parses the output of `arduino-cli core list`: the first column without its header."""
    words = (line.partition(" ")[0] for line in text.splitlines())
    return frozenset(word for word in words if ":" in word)


_TOOLS = {
    "arduino-cli": _Tool(cli_commands, ("version",), _cores_of_cli),
    "arduino-builder": _Tool(builder_commands, ("-version",), _cores_of_builder),
}


def find_arduino_tool(core: str, prefer: str | None = None) -> ArduinoTool:
    """Returns the preferred program, or the first with the core "package:architecture". Raises ToolError."""
    if prefer is not None and prefer not in _TOOLS:
        raise ToolError(
            f'toolchain "{prefer}" cannot build sketches{did_you_mean(prefer, _TOOLS)}',
            hint=f"known for Arduino: {', '.join(_TOOLS)}",
        )
    wanted = [prefer] if prefer else list(_TOOLS)
    there = [name for name in wanted if shutil.which(name)]
    if not there:
        raise MissingToolError(
            "no program to build sketches was found", f"looked for {', '.join(wanted)}", HINT
        )
    found = next((name for name in there if core in _TOOLS[name].cores()), None)
    if found is None:
        raise MissingToolError(
            f"the Arduino core {core} is not installed",
            f"asked {', '.join(there)}",
            f"arduino-cli core install {core}; its maker's package index comes first if it is not Arduino's",
        )
    return ArduinoTool(_toolchain(found), _TOOLS[found].commands)


def found_tools() -> dict[str, str]:
    """Returns the version of each program, or "" if it is not installed."""
    return {name: _toolchain(name).version if shutil.which(name) else "" for name in _TOOLS}


@functools.cache
def _toolchain(name: str) -> Toolchain:
    ask = _TOOLS[name].ask_version
    path = shutil.which(name) or name
    done = subprocess.run(
        (path, *ask), capture_output=True, text=True, timeout=_VERSION_TIMEOUT_S, check=False
    )
    lines = (done.stdout or done.stderr).strip().splitlines()
    return Toolchain(name, "arduino", (path,), lines[0] if lines else name)
