"""Commands that install missing tools. They are printed but never executed."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from aot.distribution import DISTRIBUTION
from deploy.host_tools.tool_inventory import PACKAGES, Program


@dataclass(frozen=True, slots=True)
class Installer:
    """A package manager: its install command, and its names of the programs."""

    argv: str
    packages: Mapping[str, tuple[str, ...]]  # by program


_ARM_DEBIAN = ("gcc-arm-none-eabi", "libnewlib-arm-none-eabi")
_DEBIAN: Mapping[str, tuple[str, ...]] = {
    "arm-none-eabi-gcc": _ARM_DEBIAN,
    "gcc": ("gcc", "libc6-dev"),
    "clang": ("clang",),
    "riscv64-unknown-elf-gcc": ("gcc-riscv64-unknown-elf", "picolibc-riscv64-unknown-elf"),
    "qemu": ("qemu-system-arm",),
    "qemu-riscv32": ("qemu-system-misc",),
    "arduino-builder": ("arduino-builder", "arduino-core-avr", "gcc-avr", "avr-libc"),
    "simavr": ("simavr", "libsimavr-dev", "libelf-dev"),
    "avrdude": ("avrdude",),
    "openocd": ("openocd",),
}
_FEDORA: Mapping[str, tuple[str, ...]] = {
    "arm-none-eabi-gcc": ("arm-none-eabi-gcc-cs", "arm-none-eabi-newlib"),
    "gcc": ("gcc",),
    "clang": ("clang",),
    "qemu": ("qemu-system-arm",),
    "qemu-riscv32": ("qemu-system-riscv",),
    "avrdude": ("avrdude",),
    "openocd": ("openocd",),
}
_BREW: Mapping[str, tuple[str, ...]] = {
    "arm-none-eabi-gcc": ("--cask gcc-arm-embedded",),
    "clang": ("llvm",),
    "qemu": ("qemu",),
    "qemu-riscv32": ("qemu",),
    "arduino-cli": ("arduino-cli",),
    "avrdude": ("avrdude",),
    "openocd": ("open-ocd",),
    "picotool": ("picotool",),
    "simavr": ("simavr",),
}
_WINGET: Mapping[str, tuple[str, ...]] = {
    "arm-none-eabi-gcc": ("Arm.GnuArmEmbeddedToolchain",),
    "clang": ("LLVM.LLVM",),
    "qemu": ("SoftwareFreedomConservancy.QEMU",),
    "arduino-cli": ("ArduinoSA.CLI",),
}
# The first one found is used.
_INSTALLERS: Mapping[str, Installer] = {
    "apt-get": Installer("sudo apt-get install", _DEBIAN),
    "dnf": Installer("sudo dnf install", _FEDORA),
    "brew": Installer("brew install", _BREW),
    "winget": Installer("winget install", _WINGET),
}
# Programs that pip installs on every system.
_BY_PIP = {"zig": "zig", "unicorn": "unicorn", "pyocd": "pyocd"}
_PIP_TOOLS = {"esptool": "esptool", "west": "west"}


# Frameworks of several gigabytes, which are needed only to create models, and tools for developing Solder.
_ONLY_IF_WANTED = ("torch", "keras", "jax", "sklearn", "train", "docs", "release")


def install_lines(
    programs: Sequence[Program],
    packages: Mapping[str, bool],
    there: Callable[[str], object] = shutil.which,
) -> tuple[str, ...]:
    """Returns the commands that install missing tools, those of the system's package manager first."""
    missing = [program.name.partition(" for ")[0] for program in programs if not program.found]
    return tuple(_by_system(missing, there)) + tuple(_by_pip(missing, packages))


def _by_system(missing: Iterable[str], there: Callable[[str], object]) -> Iterable[str]:
    installer = next((each for name, each in _INSTALLERS.items() if there(name)), None)
    if installer is None:
        return
    words = dict.fromkeys(word for name in missing for word in installer.packages.get(name, ()))
    if words:
        yield f"{installer.argv} {' '.join(words)}"


def _by_pip(missing: Sequence[str], packages: Mapping[str, bool]) -> Iterable[str]:
    pip = "py -m pip" if sys.platform == "win32" else "python3 -m pip"
    extras = [name for name in PACKAGES if not packages.get(name, False) and name not in _ONLY_IF_WANTED]
    extras = list(dict.fromkeys([*extras, *(_BY_PIP[name] for name in missing if name in _BY_PIP)]))
    if extras:
        yield f"{pip} install '{DISTRIBUTION}[{','.join(extras)}]'"
    tools = dict.fromkeys(_PIP_TOOLS[name] for name in missing if name in _PIP_TOOLS)
    if tools:
        yield f"{pip} install {' '.join(tools)}"
