"""Jobs of a farm's workers: build a batch on any machine, measure it on one with a board."""

from __future__ import annotations

import functools
import hashlib
import os
import signal
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Any

from aot.errors import ToolError
from platforms.base import Firmware, compiler_platform_of
from platforms.board_files import load_board
from platforms.runners.runner import BoardSelector
from platforms.tuning.candidates import Batch
from platforms.tuning.image_bench import ImageBench, run_image
from platforms.tuning.trial import MeasureChoices, Outcome

SERIAL = "SOLDER_FARM_SERIAL"  # environment variable of a worker: the serial number of its board

_PACKAGES = ("aot", "artifact", "boards", "codegen", "extensions", "platforms", "project_templates")


@functools.cache
def fingerprint() -> str:
    """Returns a hash of everything a trial depends on. It must be equal on all machines of a farm."""
    digest = hashlib.sha256()
    for package in _PACKAGES:
        root = Path(str(files(package)))
        for path in sorted(p for p in root.rglob("*") if p.is_file() and "__pycache__" not in p.parts):
            digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def dask_setup(_worker: Any) -> None:
    """Makes workers ignore Ctrl-C, which ends the farm and thereby the workers. Called by Dask."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def build(board: str, batch: Batch, choices: MeasureChoices) -> bytes | str:
    """Builds a batch and returns the program, or the compiler's message."""
    try:
        return _bench(board, choices).workshop.build(batch).elf.read_bytes()
    except ToolError as error:
        return error.where or error.what


def measure(board: str, program: bytes | str, batch: Batch, choices: MeasureChoices) -> list[Outcome] | str:
    """Measures a built program on this worker's board."""
    if isinstance(program, str):
        return program
    bench = _bench(board, choices)
    with tempfile.TemporaryDirectory(prefix="solder-farm-") as folder:
        elf = Path(folder) / "firmware.elf"
        elf.write_bytes(program)
        return run_image(bench, Firmware(elf, Path(folder), bench.workshop.toolchain, profile=True), batch)


@functools.cache
def _bench(name: str, choices: MeasureChoices) -> ImageBench:
    """Creates the bench of a worker process, which runs one job at a time."""
    board = load_board(name)
    folder = Path(tempfile.mkdtemp(prefix="solder-farm-"))
    where = BoardSelector(os.environ.get(SERIAL))
    return ImageBench(board, compiler_platform_of(board), folder, choices, where=where)
