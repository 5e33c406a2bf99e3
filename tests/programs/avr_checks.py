"""Checks written in C, run on an AVR in simavr: an int of 16 bits, constants in a space of their own."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from c_checks import Check, check_files, device_file
from processor_time import limit

from boards.cores import load_core
from platforms.runners.simavr import build_machine

AVR = load_core("avr").target()
LIMIT_S = 60  # of processor time
LAST_RAM_ADDRESS = 0xFFFF  # more RAM than any such chip has: the checks' wanted values lie there too
COMPILE = (
    *("avr-gcc", "-std=gnu99", "-mmcu=atmega2560", "-Os", "-Wall", "-Wextra", "-Werror"),
    *("-ffunction-sections", "-fdata-sections"),
)
LINK = (
    "-Wl,--gc-sections",
    *("-Wl,--defsym=__DATA_REGION_LENGTH__=0xfd00", f"-Wl,--defsym=__stack={LAST_RAM_ADDRESS}"),
)


def failure_on_avr(check: Check, directory: Path, machine: Path) -> str:
    """What the check says where it fails; "" where all is right. One program each: memory is short."""
    directory.mkdir(parents=True, exist_ok=True)
    files = {**check_files([check]), "avr.c": device_file("avr.c")}
    for name, text in files.items():
        (directory / name).write_text(text, encoding="utf-8")
    sources = [name for name in files if name.endswith(".c")]
    for source in sources:  # each by itself: ccache keeps single objects
        _require_built([*COMPILE, "-c", source, "-o", f"{source}.o"], directory)
    objects = [f"{source}.o" for source in sources]
    _require_built([*COMPILE, *LINK, *objects, "-lm", "-o", "check.elf"], directory)
    build_machine(machine)
    said = _run(machine, directory / "check.elf")
    return "" if said == f"{check.name} 0\n" else said


def _require_built(argv: Sequence[str], directory: Path) -> None:
    built = subprocess.run(argv, cwd=directory, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr


def _run(machine: Path, elf: Path) -> str:
    """What the program prints. Its input stays open: the end of it would end the simulator."""
    argv = [str(machine), "atmega2560", "16000000", str(elf), hex(LAST_RAM_ADDRESS)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        limit(process, LIMIT_S)
        process.wait()
        return process.stdout.read()
