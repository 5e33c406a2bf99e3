"""Random and mutated frames in the long form, through the device's decoder and server under sanitizers."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.fault_table import DEVICE, RUNTIME

COUNT = 10_000_000
SEED = 20
_SOURCES = ("fuzz_main.c", "models.c", "functions.c")
_ALL = ("-DSOLDER_SLOT", "-DSOLDER_FUNCTIONS", "-DSOLDER_CARTRIDGES", "-DSOLDER_LAYER_HOOK")
FIRMWARE = {
    "with all that a line can ask": (_SOURCES, _ALL),
    "the same, with a key": ((*_SOURCES, "line_key.c"), (*_ALL, "-DSOLDER_LOCK")),
}
_FLAGS = ("-std=c99", "-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
HEAD = """\
# Fuzzing in the long form

`make fuzz-long` prints this. Frames go through the decoder and, as many again, through the server of the
device, compiled for this computer by gcc with its sanitizers of addresses and undefined behaviour; what is
found ends the program and stands in the table.

| firmware | frames into the decoder | into the server | found |
|---|---:|---:|---|
"""


def frame_rows(count: int = COUNT) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        for firmware, (sources, defines) in FIRMWARE.items():
            program = Path(folder) / "fuzz"
            files = [*(str(DEVICE / name) for name in sources), *map(str, sorted(RUNTIME.glob("*.c")))]
            subprocess.run(("gcc", *_FLAGS, *defines, f"-I{RUNTIME}", *files, "-o", str(program)), check=True)
            ended = subprocess.run(
                (str(program), str(SEED), str(count)), capture_output=True, text=True, check=False
            )
            found = (ended.stdout + ended.stderr).strip().partition("\n")[
                0
            ] or f"exit status {ended.returncode}"
            yield f"| {firmware} | {count:,} | {count:,} | {found if ended.returncode else 'nothing'} |\n"
