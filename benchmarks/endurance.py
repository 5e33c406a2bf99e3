"""A simulated day of a device: inferences, resets, a bad line and tuning; memory and handles of both ends."""

from __future__ import annotations

import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import deploy
from aot.errors import DeployError
from aot.interpret import run_graph
from benchmarks.faulty_line import Faults, FaultyTransport
from deploy.compiler.compile_model import Compiled
from deploy.devices.firmware import Ready, prepare_compiled, ready_for
from platforms.base import BuildChoices
from platforms.rpc.deadlines import Deadlines
from platforms.rpc.messages import RemoteModel
from platforms.rpc.protocol import Reset
from platforms.rpc.session import Session

MODEL = Path(deploy.__file__).parent / "demo" / "digits.tflite"
BOARDS = ("host", "mps2-an386")
HOURS = 24
INFERENCES = 360  # an hour: one in ten seconds, which nobody waits for
TUNED_EVERY_H = 6
TRIALS = 4
FAULTS = Faults(flipped_bits=2e-6, dropped=2e-5, duplicated=2e-5)
SAMPLES = 8
_DEADLINES = Deadlines(hello_s=60.0, answer_s=60.0, run_s=60.0, retry_s=0.05, retry_most_s=0.5)
_COLUMNS = (
    "board", "hours", "inferences", "right", "wrong", "named errors", "resets", "tuned points",
    "program: KiB", "files", "device: KiB", "files", "minutes",
)  # fmt: skip
HEAD = f"""\
# A simulated day

`python -m benchmarks endurance` runs the bundled model on a device of this computer and on an emulated
Cortex-M4 for {HOURS} hours of {INFERENCES} inferences each, without waiting in between. The line flips a
bit in {1 / FAULTS.flipped_bits:,.0f}, and loses and repeats a byte in {1 / FAULTS.dropped:,.0f}. The device
is reset each hour, and each {TUNED_EVERY_H} hours a search of {TRIALS} points runs on a second one. Outputs
are compared with the reference. Resident memory in KiB and open files, of the program and of the device's
process, are listed after the second hour and after the last.

| {" | ".join(_COLUMNS)} |
|{"---|" * len(_COLUMNS)}
"""


@dataclass
class Day:
    """What happened until now."""

    right: int = 0
    wrong: int = 0
    resets: int = 0
    points: int = 0
    named: Counter[str] = field(default_factory=Counter)  # errors, by their class
    program: list[Use] = field(default_factory=list)  # behind each hour
    device: list[Use] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Use:
    """Resident memory in KiB, and open files."""

    kib: int
    files: int


def endurance_rows(hours: int = HOURS) -> Iterator[str]:
    for board in BOARDS:
        began_s = time.monotonic()
        day = live(board, hours)
        minutes = (time.monotonic() - began_s) / 60
        yield row_of(board, hours, day, minutes)


def row_of(board: str, hours: int, day: Day, minutes: float) -> str:
    named = ", ".join(f"{count} {kind}" for kind, count in sorted(day.named.items())) or "0"
    uses = [
        _from_to([use.kib for use in uses], [use.files for use in uses]) for uses in (day.program, day.device)
    ]
    cells = (board, hours, hours * INFERENCES, day.right, day.wrong, named, day.resets, day.points)
    return f"| {' | '.join(map(str, cells))} | {uses[0]} | {uses[1]} | {minutes:.0f} |\n"


def _from_to(kib: list[int], files: list[int]) -> str:
    second = min(1, len(kib) - 1)
    return f"{kib[second]:,} to {kib[-1]:,} | {files[second]} to {files[-1]}"


def live(board: str, hours: int) -> Day:
    """The day of a device; its firmware is built anew in the cache if need be."""
    compiled = deploy.compile(MODEL, board=board)
    ready = ready_for(prepare_compiled(compiled), BuildChoices(), None)
    samples, day = _samples(compiled), Day()
    line = FaultyTransport(ready.platform.open_line(ready.built, ready.board, None), FAULTS, seed=1)
    session = Session(line, _DEADLINES)
    try:
        for hour in range(hours):
            _one_hour(session, ready, samples, day)
            if hour % TUNED_EVERY_H == TUNED_EVERY_H - 1:
                day.points += _tune(board)
            day.program.append(use_of(os.getpid()))
            day.device.append(use_of(_only_child()))
    finally:
        session.close()
    return day


def _samples(compiled: Compiled) -> list[tuple[bytes, bytes]]:
    """Inputs with the outputs of the reference."""
    graph, rng = compiled.artifact.graph, np.random.default_rng(1)
    x = compiled.artifact.facts.inputs[0]
    given = [rng.integers(-128, 128, x.type.shape).astype(np.int8) for _ in range(SAMPLES)]
    outputs = [run_graph(graph, {x.name: each})[graph.outputs[0]] for each in given]
    return [(each.tobytes(), output.tobytes()) for each, output in zip(given, outputs, strict=True)]


def _one_hour(session: Session, ready: Ready, samples: list[tuple[bytes, bytes]], day: Day) -> None:
    """Ends with a reset. After an error the session begins anew, and the inference is not tried again."""
    model: RemoteModel | None = None
    for number in range(INFERENCES):
        x, y = samples[number % len(samples)]
        try:
            model = model or _greeted(session, ready)
            session.write_input(model, 0, x)
            session.run(model)
            is_right = session.read_output(model, 0) == y
        except DeployError as error:
            day.named[type(error).__name__] += 1
            model = None
        else:
            day.right += is_right
            day.wrong += not is_right
    try:
        _greeted(session, ready)
        session.reset(Reset.DEVICE)
        day.resets += 1
    except DeployError as error:
        day.named[type(error).__name__] += 1


def _greeted(session: Session, ready: Ready) -> RemoteModel:
    session.hello()
    return session.find_model(ready.expected)


def _tune(board: str) -> int:
    """A search on a device of its own; how many points it measured."""
    with tempfile.TemporaryDirectory() as folder:
        records = Path(folder) / "tuned.jsonl"
        deploy.tune(MODEL, board, records, trials=TRIALS)
        return len(records.read_text(encoding="utf-8").splitlines())


def use_of(process: int) -> Use:
    pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    return Use(pages * os.sysconf("SC_PAGE_SIZE") // 1024, len(list(Path(f"/proc/{process}/fd").iterdir())))


def _only_child() -> int:
    """The device's process: that with most memory, since a shell that watches over it is a child, too."""
    tasks = Path("/proc/self/task").glob("*/children")
    children = [int(child) for task in tasks for child in task.read_text(encoding="ascii").split()]
    return max(children, key=lambda child: use_of(child).kib)
