"""Operators one by one: instructions on this machine beside TensorFlow Lite Micro's."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.host import build_for_host, count_instructions
from benchmarks.host_runs import OURS, TFLM
from benchmarks.operator_models import OPERATORS

HEAD = """\
# Single operators: Solder and TensorFlow Lite Micro

Printed by `python -m benchmarks operators`: instructions on x86-64 of models with one operator each,
including the interpreter or the model's function. See `host.md` for the method.

| operator | Solder | TFLM | ratio |
| --- | ---: | ---: | ---: |
"""


def operator_rows() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"op{number:02}.tflite" for number in range(len(OPERATORS))]
        for file, operator in zip(files, OPERATORS, strict=True):
            file.write_bytes(operator.file())
        models = [built for file in files if (built := build_for_host(file, Path(folder))) is not None]
        counts = count_instructions(models, Path(folder))
        for file, operator in zip(files, OPERATORS, strict=True):
            yield _row(operator.label, counts[file.stem])


def _row(label: str, counts: dict[str, int]) -> str:
    return f"| {label} | {counts[OURS]:,} | {counts[TFLM]:,} | {counts[OURS] / counts[TFLM]:.2f} |\n"
