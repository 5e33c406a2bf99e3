"""What the line costs: the runtime's bytes on a Cortex-M4, and how much of a serial line is left for data."""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.fault_table import RUNTIME, build_devices
from platforms.rpc.session import Session
from platforms.transport.base import Transport
from platforms.transport.pipe import PipeTransport

CODE_BYTES, RAM_BYTES = 6_208, 2 * 1024  # what the runtime may take beside the model
LEAST_SHARE = 0.85
BAUD, BITS_PER_BYTE = 115_200, 10
TURNAROUND_S = 0.001  # a full-speed USB serial adapter holds bytes back until its next frame
WRITE_BYTES = 4096
ECHO = 5  # the test device's model that takes as many
FLAGS = "-std=c99 -mcpu=cortex-m4 -mthumb -Wall -Wextra -Wconversion -Werror"
ABILITIES = "-DSOLDER_LAYER_HOOK -DSOLDER_SLOT -DSOLDER_RATE"


@dataclass(frozen=True)
class Size:
    """The bytes that the runtime adds to a model's firmware."""

    code_bytes: int
    ram_bytes: int


def runtime_size(folder: Path, optimize: str, abilities: str = ABILITIES) -> Size:
    sources = sorted(str(path) for path in RUNTIME.glob("*.c"))
    compile_argv = ["arm-none-eabi-gcc", *FLAGS.split(), optimize, *abilities.split(), "-c", *sources]
    subprocess.run(compile_argv, cwd=folder, check=True)
    objects = sorted(str(path) for path in folder.glob("*.o"))
    sizes = subprocess.run(["arm-none-eabi-size", "-t", *objects], capture_output=True, text=True, check=True)
    text, data, bss, *_ = map(int, sizes.stdout.splitlines()[-1].split()[:4])
    return Size(text + data, data + bss)


class CountingTransport(Transport):
    """Counts what a serial line would have to carry."""

    def __init__(self, line: Transport) -> None:
        self.name = line.name
        self._line = line
        self.bytes = 0
        self.turns = 0

    def read(self, max_bytes: int, deadline_s: float) -> bytes:
        received = self._line.read(max_bytes, deadline_s)
        self.bytes += len(received)
        return received

    def write(self, data: bytes, deadline_s: float) -> None:
        self.bytes += len(data)
        self.turns += 2
        self._line.write(data, deadline_s)

    def close(self) -> None:
        self._line.close()

    @property
    def seconds(self) -> float:
        return self.bytes * BITS_PER_BYTE / BAUD + self.turns * TURNAROUND_S


def write_share(session: Session, line: CountingTransport) -> float:
    """The share of the line's raw rate that a 4 KB input gets."""
    session.hello()
    model = session.describe()[ECHO]
    line.bytes = line.turns = 0
    session.write_input(model, 0, b"\x55" * WRITE_BYTES)
    return WRITE_BYTES * BITS_PER_BYTE / BAUD / line.seconds


def report() -> str:
    rows = [("what", "is", "may be"), ("---", "---:", "---:")]
    with tempfile.TemporaryDirectory() as folder:
        for name, abilities in (("with all abilities", ABILITIES), ("without loading and profiling", "")):
            size = runtime_size(Path(folder), "-Os", abilities)
            rows.append((f"code on Cortex-M4, {name}, bytes", f"{size.code_bytes:,}", f"{CODE_BYTES:,}"))
            rows.append((f"RAM on Cortex-M4, {name}, bytes", f"{size.ram_bytes:,}", f"{RAM_BYTES:,}"))
        line = CountingTransport(PipeTransport(build_devices(Path(folder))["device"]))
        session = Session(line)
        share = write_share(session, line)
        session.close()
    rows.append((f"share of {BAUD} baud in writes of 4 KB", f"{share:.1%}", f"at least {LEAST_SHARE:.0%}"))
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)
