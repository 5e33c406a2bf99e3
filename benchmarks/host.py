"""Instructions and time of models on this machine, beside TensorFlow Lite Micro's own kernels."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from aot.errors import DeployError
from aot.target import Target
from benchmarks.host_runs import OURS, TFLM, Built, Side, arguments, build_marks, sides
from codegen.compile import compile_job
from codegen.job import model_name, read_job
from codegen.options import CompileOptions
from platforms.shared_library import build

ROUNDS = 7  # in turns; the least counts, since other programs only ever add
_TIMED_S = 0.02  # in each
THEIR_RUN = "*MicroInterpreter::Invoke()"
HEAD = """\
# This machine: Solder and TensorFlow Lite Micro

Printed by `python -m benchmarks host`: one inference on x86-64 of each shared model that TensorFlow Lite
Micro supports. TensorFlow Lite Micro is the package `tflite-micro` (optimized by gcc 14) with its own
kernels, Solder's C is built by `deploy.in_process` (`cc -O2`). valgrind's callgrind counts the instructions
of the second run, inside `MicroInterpreter::Invoke` or `<model>_run`. Times are the shortest of many
alternating runs. They include the call from Python, a microsecond or two.

| model | Solder, instructions | TFLM, instructions | ratio | Solder, us | TFLM, us | ratio |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
"""


@dataclass(frozen=True, slots=True)
class HostRow:
    name: str
    instructions: dict[str, int]
    seconds: dict[str, float]

    def __str__(self) -> str:
        counts, times = self.instructions, self.seconds
        return (
            f"| {self.name} | {counts[OURS]:,} | {counts[TFLM]:,} | {counts[OURS] / counts[TFLM]:.2f} "
            f"| {times[OURS] * 1e6:,.1f} | {times[TFLM] * 1e6:,.1f} | {times[OURS] / times[TFLM]:.2f} |\n"
        )


def host_rows(files: Sequence[Path]) -> Iterator[HostRow]:
    """A row for each model that both can run."""
    _require_others()
    with tempfile.TemporaryDirectory() as folder:
        models = [built for file in files if (built := build_for_host(file, Path(folder))) is not None]
        counts = count_instructions(models, Path(folder))
        for built in models:
            if built.name in counts:
                yield HostRow(built.name, counts[built.name], _time(built))


def _require_others() -> None:
    lacks = shutil.which("valgrind") is None or find_spec("tflite_micro") is None
    if lacks:
        sys.exit("this takes valgrind and tflite-micro: apt install valgrind; pip install --pre tflite-micro")


def build_for_host(file: Path, folder: Path) -> Built | None:
    name = model_name(file)
    try:
        build(compile_job(read_job(file, Target("host"), CompileOptions())).sources, folder / name)
    except DeployError as error:
        sys.stderr.write(f"{name}: {error}\n")
        return None
    return Built(file, next((folder / name).glob("*.so")), name)


def count_instructions(models: list[Built], folder: Path) -> dict[str, dict[str, int]]:
    tool = ["valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={folder}/counts"]
    tool += [f"--toggle-collect={function}" for function in (THEIR_RUN, *(f"{b.name}_run" for b in models))]
    program = [sys.executable, "-m", "benchmarks.host_runs", str(build_marks(folder)), *arguments(models)]
    # With more threads those of NumPy are counted too.
    subprocess.run([*tool, *program], check=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    counts: dict[str, dict[str, int]] = {}
    for text in (file.read_text() for file in folder.glob("counts.*")):
        what = re.search(r"^desc: Trigger: Client Request: (\w+) (.*)$", text, re.MULTILINE)
        total = re.search(r"^(?:summary|totals): (\d+)", text, re.MULTILINE)
        if what and total:
            counts.setdefault(what[2], {})[what[1]] = int(total[1])
    return counts


def _time(built: Built) -> dict[str, float]:
    both, best = sides(built), dict[str, float]()
    for _ in range(ROUNDS):
        for name, side in both.items():
            best[name] = min(best.get(name, float("inf")), _least(side))
    return best


def _least(side: Side) -> float:
    found, end = float("inf"), time.perf_counter() + _TIMED_S
    while True:
        side.fill()
        start = time.perf_counter()
        side.run()
        now = time.perf_counter()
        found = min(found, now - start)
        if now > end:
            return found
