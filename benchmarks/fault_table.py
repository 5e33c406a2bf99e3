"""What can go wrong between the two real ends, and what comes of it: right answers and named errors."""

from __future__ import annotations

import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from aot.errors import DeployError
from benchmarks.faulty_frames import FaultyFramesTransport, FrameFaults
from benchmarks.faulty_line import Faults, FaultyTransport
from platforms.rpc.deadlines import Deadlines
from platforms.rpc.protocol import PROTOCOL_VERSION, Reset
from platforms.rpc.session import Session
from platforms.transport.base import Transport
from platforms.transport.pipe import PipeTransport

ROOT = Path(__file__).parent.parent
RUNTIME = ROOT / "project_templates" / "common"
DEVICE = ROOT / "tests" / "rpc" / "device"
MODEL = 1  # running_sum: sum += a + b; a run carried out twice, or not at all, spoils all that follow
WIDTH = 1200
DEADLINES = Deadlines(hello_s=4.0, answer_s=4.0, run_s=4.0, retry_s=0.02, retry_most_s=0.2)
# That the host sends for one inference, a hello said again to a device that has only then started included;
# a test counts them.
SESSION_BYTES = 2950
MOST_S = 10.0  # an operation and the hello after it, on a busy machine; later than that is a hang
VERSION = "#define SOLDER_PROTOCOL_VERSION "

Wrap = Callable[[Transport, int], Transport]


@dataclass(frozen=True)
class Row:
    """One kind of fault: how often it is tried, and how."""

    fault: str
    count: int
    wrap: Wrap = lambda line, _seed: line
    environment: Callable[[int], Mapping[str, str]] = lambda _trial: {}
    runs: int = 1  # in one session
    program: str = "device"  # or a shell command that is not a device


@dataclass
class Outcome:
    """What became of the requested inferences."""

    asked: int = 0
    right: int = 0
    late: int = 0
    wrong: int = 0
    named: dict[str, int] = field(default_factory=dict)  # by the error's class


def bytes_of(faults: Faults) -> Wrap:
    return lambda line, seed: FaultyTransport(line, faults, seed)


def frames_of(faults: FrameFaults) -> Wrap:
    return lambda line, seed: FaultyFramesTransport(line, faults, seed)


def reset_at(trial: int) -> Mapping[str, str]:
    return {"RESET_AT_BYTE": str(trial + 1)}


ROWS = (
    Row("1 bit in 10,000 and 0.1 % of bytes lost", 1000, bytes_of(Faults(1e-4, 1e-3)), runs=1000),
    Row("1 bit in 5,000 flipped", 100, bytes_of(Faults(flipped_bits=2e-4)), runs=100),
    Row("0.2 % of bytes lost", 100, bytes_of(Faults(dropped=2e-3)), runs=100),
    Row("0.2 % of bytes twice", 100, bytes_of(Faults(duplicated=2e-3)), runs=100),
    Row("0.2 % of bytes swapped", 100, bytes_of(Faults(swapped=2e-3)), runs=100),
    Row("0.1 % of bytes: cut there", 100, bytes_of(Faults(cut=1e-3)), runs=100),
    Row("5 % of frames lost", 100, frames_of(FrameFaults(lost=0.05)), runs=100),
    Row("20 % of frames twice", 100, frames_of(FrameFaults(duplicated=0.2)), runs=100),
    Row("10 % of frames 50 ms late", 100, frames_of(FrameFaults(delayed=0.1)), runs=100),
    Row("10 % of frames overtaken", 100, frames_of(FrameFaults(overtaken=0.1)), runs=100),
    Row("reset at each byte of a session", SESSION_BYTES, environment=reset_at),
    Row("1 bit in 1,000 flipped", 100, bytes_of(Faults(flipped_bits=1e-3))),
    Row("1 bit in 100 flipped", 10, bytes_of(Faults(flipped_bits=0.01))),
    Row("half of all bytes lost", 5, bytes_of(Faults(dropped=0.5))),
    Row("every frame lost", 5, frames_of(FrameFaults(lost=1.0))),
    Row("firmware of another protocol", 5, program="old"),
    Row("an echo instead of a device", 3, program="cat"),
    Row("text without end", 3, program="yes hello"),
    Row("noise without end", 3, program="cat /dev/urandom"),
    Row("silence", 3, program="sleep 60"),
    Row("a device that ends", 3, program="true"),
)


def build_devices(folder: Path) -> dict[str, tuple[str, ...]]:
    """The test device in C, under the sanitizers, and one that speaks an older protocol: name -> command."""
    old = folder / "runtime"
    old.mkdir()
    for file in RUNTIME.glob("*.[ch]"):
        text = file.read_text(encoding="utf-8")
        (old / file.name).write_text(
            text.replace(f"{VERSION}{PROTOCOL_VERSION}u", f"{VERSION}0u"), encoding="utf-8"
        )
    for name, runtime in (("device", RUNTIME), ("old", old)):
        sources = [DEVICE / "port.c", DEVICE / "models.c", *sorted(runtime.glob("*.c"))]
        flags = (
            "-std=c99",
            "-g",
            "-O1",
            "-fsanitize=address,undefined",
            "-fno-sanitize-recover=all",
            "-DSOLDER_RATE",
        )
        argv = ("gcc", *flags, f"-I{runtime}", *map(str, sources), "-o", str(folder / name))
        subprocess.run(argv, check=True)
    return {name: (str(folder / name),) for name in ("device", "old")}


def try_out(row: Row, devices: Mapping[str, tuple[str, ...]]) -> Outcome:
    outcome = Outcome()
    for trial in range(row.count // row.runs):
        argv = devices.get(row.program, ("sh", "-c", f"exec {row.program}"))
        line = PipeTransport(argv, environment={**os.environ, **row.environment(trial)})
        session = Session(row.wrap(line, trial), DEADLINES)
        try:
            _infer(session, row.runs, outcome)
        finally:
            session.close()
    return outcome


def _infer(session: Session, runs: int, outcome: Outcome) -> None:
    """Each run's sum must be right; after an error the session and the sum begin anew."""
    steps = sums(session)
    for _ in range(runs):
        outcome.asked += 1
        began_s = time.monotonic()
        try:
            is_right = next(steps)
        except DeployError as error:
            kind = type(error).__name__
            outcome.named[kind] = outcome.named.get(kind, 0) + 1
            steps = sums(session)
        else:
            outcome.right += is_right
            outcome.wrong += not is_right
        outcome.late += time.monotonic() - began_s > MOST_S


def sums(session: Session) -> Iterator[bool]:
    chance = random.Random(0)
    total = bytes(WIDTH)
    session.hello()
    model = session.describe()[MODEL]
    session.reset(Reset.STATE)
    while True:
        a, b = chance.randbytes(WIDTH), chance.randbytes(WIDTH)
        total = bytes((t + x + y) % 256 for t, x, y in zip(total, a, b, strict=True))
        session.write_input(model, 0, a)
        session.write_input(model, 1, b)
        session.run(model)
        yield session.read_output(model, 0) == total


def text_of(row: Row, outcome: Outcome) -> str:
    named = ", ".join(f"{count} {kind}" for kind, count in sorted(outcome.named.items())) or "0"
    return f"| {row.fault} | {outcome.asked} | {outcome.right} | {named} | {outcome.late} | {outcome.wrong} |"


HEAD = (
    "| fault | inferences | right | named errors | late | wrong |",
    "|---|---:|---:|---|---:|---:|",
)
