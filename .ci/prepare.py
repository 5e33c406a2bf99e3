"""Installs what `make demo`, `make check` or `make test` needs: packages into .venv, programs by apt-get.

Runs on a bare Python, so it imports nothing but the standard library.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
OLDEST_PYTHON = (3, 10)

ARM_COMPILER = "arm-none-eabi-gcc"
EMULATOR = "qemu-system-arm"
HOST_COMPILERS = ("gcc", "clang")

# What the tests run, and the Debian packages that bring it.
PROGRAMS = {
    "gcc": ("gcc", "libc6-dev"),
    "g++": ("g++",),
    "clang": ("clang",),
    ARM_COMPILER: ("gcc-arm-none-eabi", "libnewlib-arm-none-eabi"),
    EMULATOR: ("qemu-system-arm",),
    "riscv64-unknown-elf-gcc": ("gcc-riscv64-unknown-elf", "picolibc-riscv64-unknown-elf"),
    "qemu-system-riscv32": ("qemu-system-misc",),
    "avr-gcc": ("gcc-avr", "avr-libc"),
    "arduino-builder": ("arduino-builder", "arduino-core-avr"),
    "chromium": ("chromium",),
    "ccache": ("ccache",),
    "cmake": ("cmake",),
    "rustc": ("rustc",),
    "cargo": ("cargo",),
    "simavr": ("simavr", "libsimavr-dev", "libelf-dev"),
}

# The same for libraries: cross compilers need one each, the signature of a cartridge is verified by one.
FILES = {
    "/usr/include/newlib/string.h": ("libnewlib-arm-none-eabi",),
    "/usr/lib/picolibc/riscv64-unknown-elf/include/string.h": ("picolibc-riscv64-unknown-elf",),
    "/usr/lib/avr/include/string.h": ("avr-libc",),
    "/usr/include/sodium.h": ("libsodium-dev",),
    "/usr/include/psa/crypto.h": ("libmbedtls-dev",),
}
DEBIAN = Path("/etc/debian_version")  # where these files are is Debian's choice
LOCK_TIMEOUT_S = 300  # a fresh machine may be installing updates by itself

EXTRAS = {
    "check": ("test",),
    "dist": ("test", "release"),
    "docs": ("docs",),
    "test": (
        "test", "zig", "cycles", "oracle", "tflm", "train", "tune", "exact", "farm", "quantize", "browser",
        "channels", "docs", "ethosu", "fronts", "sign",
    ),
}  # fmt: skip


def say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def demo_extras() -> tuple[str, ...]:
    """The demo takes a compiler and an emulator from pip only where the machine has none."""
    compiles = shutil.which(ARM_COMPILER) and any(shutil.which(name) for name in HOST_COMPILERS)
    emulates = shutil.which(EMULATOR)
    return (() if compiles else ("zig",)) + (() if emulates else ("unicorn",))


def missing_packages() -> tuple[str, ...]:
    absent = [packages for program, packages in PROGRAMS.items() if shutil.which(program) is None]
    if DEBIAN.is_file():
        absent += [packages for path, packages in FILES.items() if not Path(path).is_file()]
    return tuple(dict.fromkeys(package for packages in absent for package in packages))


def sanitizer_packages() -> tuple[str, ...]:
    """What clang's sanitizers lack: Debian's clang only recommends the package with their runtime."""
    clang = shutil.which("clang")
    if clang is None:
        return ()
    resources, version = (_said_by(clang, word) for word in ("-print-resource-dir", "-dumpversion"))
    if any(Path(resources).glob("lib/*/libclang_rt.asan*")):
        return ()
    return (f"libclang-rt-{version.partition('.')[0]}-dev",)


def _said_by(*argv: str) -> str:
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()


def apt_prefix() -> list[str] | None:
    """How to call apt-get without being asked for a password; None where that cannot be."""
    if shutil.which("apt-get") is None:
        return None
    if os.geteuid() == 0:
        return ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]
    if shutil.which("sudo") and subprocess.run(["sudo", "-n", "true"], capture_output=True).returncode == 0:
        return ["sudo", "-n", "env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]
    return None


def install_programs(packages: Sequence[str]) -> bool:
    """Whether the Debian packages are there now; where they cannot be had, says which are needed."""
    apt = apt_prefix()
    if apt is None:
        say(f"missing on this machine: {' '.join(packages)}")
        say(f"  hint: sudo apt-get install {' '.join(packages)}   (the names are Debian's)")
        return False
    # An old index is no reason to stop: the install below says what it could not find.
    subprocess.run([*apt, "update", "-qq"], stdout=sys.stderr, check=False)
    waiting = ("-o", f"DPkg::Lock::Timeout={LOCK_TIMEOUT_S}")
    install = [*apt, *waiting, "install", "-y", "-qq", "--no-install-recommends", *packages]
    return subprocess.run(install, stdout=sys.stderr, check=False).returncode == 0


def make_venv() -> None:
    if VENV_PYTHON.exists():
        return
    if importlib.util.find_spec("ensurepip") is None and not install_programs(["python3-venv"]):
        raise SystemExit("error: this Python cannot make a virtual environment without python3-venv")
    subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)


def install_python_packages(extras: Sequence[str]) -> None:
    """This project, editable, with its extras; nothing where the same was installed before."""
    what = f"{ROOT}[{','.join(extras)}]" if extras else str(ROOT)
    wanted = hashlib.sha256(what.encode() + (ROOT / "pyproject.toml").read_bytes()).hexdigest()
    stamp = VENV / f"installed-{'-'.join(extras) or 'plain'}"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    say(f"installing {what} into .venv")
    pip = [str(VENV_PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if subprocess.run([*pip, "--editable", what], check=False).returncode != 0:
        raise SystemExit("error: pip could not install what is needed; its own message is above")
    stamp.write_text(wanted)


def main(purpose: str) -> None:
    if sys.version_info < OLDEST_PYTHON:
        needed = ".".join(map(str, OLDEST_PYTHON))
        raise SystemExit(
            f"error: Python {needed} or newer is needed, {sys.executable} is {sys.version.split()[0]}\n"
            f"  hint: make {purpose} PYTHON=python{needed}"
        )
    if purpose == "test":
        for find_missing in (missing_packages, sanitizer_packages):  # the second asks clang
            if packages := find_missing():
                install_programs(packages)  # what is still missing is named by the tests that need it
    make_venv()
    install_python_packages(EXTRAS[purpose] if purpose in EXTRAS else demo_extras())


if __name__ == "__main__":
    main(sys.argv[1])
