"""What tuning brings to whole models: instructions before and after, no bit changed, better defaults."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import codegen.kernels.tuned
import deploy
from aot.ir.types import Array
from benchmarks.cases import SHARED
from benchmarks.tuning_cases import BOARD
from codegen.kernels.tuning_records import TuningRecord, read_records
from platforms.board_files import load_board
from platforms.tuning.record_stats import task_stats

MODELS = ("tiny_ic_resnet8_int8", "tiny_kws_dscnn_int8", "tiny_vww_mbv1_int8", "tiny_ad_fc_int8")
TRIALS = 300
_HEAD = "| model | by default | tuned | fewer | constants | tuned, no more flash | fewer | same bits |"
_MOST_WRITTEN_OUT = 16  # groups of products, as in hot layers by default
_GAIN = 0.01  # that makes a point the default
_DEFAULTS = Path(codegen.kernels.tuned.__file__).parent / f"{load_board(BOARD).target.core}.json"


@dataclass(frozen=True)
class Measured:
    """One run of a compiled model."""

    instructions: int
    constants_bytes: int
    outputs: dict[str, Array]


def report() -> str:
    lines = [f"{TRIALS} trials each on {BOARD}, instructions of a run:", "", _HEAD, "|" + "---|" * 8]
    with tempfile.TemporaryDirectory() as folder:
        lines += [_row(model, Path(folder)) for model in MODELS]
    return "\n".join(lines)


def _row(model: str, folder: Path) -> str:
    path, every, cheap = _path(model), folder / f"{model}.jsonl", folder / f"{model}.cheap.jsonl"
    _tune(path, every)
    cheap.write_text("".join(r.as_line() for r in read_records(every) if not _is_dear(r)))
    before, after, kept = (_measured(path, records) for records in (None, every, cheap))
    return _text(model, before, after, kept)


def _tune(path: Path, records: Path) -> None:
    sys.stderr.write(f"{path.parent.name}\n")
    deploy.tune(path, BOARD, records, trials=TRIALS)


def measure_defaults() -> None:
    """Writes the core's table of default points: it serves from the next compile on."""
    with tempfile.TemporaryDirectory() as folder:
        for model in MODELS:
            records = Path(folder) / f"{model}.jsonl"
            _tune(_path(model), records)
            write_defaults(r for r in read_records(records) if not _is_dear(r))


def write_defaults(records: Iterable[TuningRecord]) -> None:
    """Adds what is better by enough, in the table's order."""
    known = json.loads(_DEFAULTS.read_text()) if _DEFAULTS.exists() else {}
    found = [s for s in task_stats(records) if s.best and s.default and s.best <= s.default * (1 - _GAIN)]
    table = {**known, **{s.task: dict(s.knobs) for s in found if s.knobs is not None}}
    lines = ",\n".join(f" {json.dumps(task)}: {json.dumps(table[task])}" for task in sorted(table))
    _DEFAULTS.write_text(f"{{\n{lines}\n}}\n")


def _path(model: str) -> Path:
    return SHARED / "models" / model / "model.tflite"


def _is_dear(record: TuningRecord) -> bool:
    """Whether it takes flash: twice for the weights, or more code than the schedules would write out."""
    knobs = record.knobs
    written_out = knobs.get("unroll", 1) * knobs.get("blocks", 1)
    return knobs.get("weight_bits", 8) > 8 or written_out > _MOST_WRITTEN_OUT


def _measured(path: Path, records: Path | None) -> Measured:
    compiled = deploy.compile(path, BOARD, tuning_records=records)
    graph = compiled.artifact.graph
    rng = np.random.default_rng(0)
    inputs = {v: rng.integers(-128, 128, graph.types[v].shape).astype(np.int8) for v in graph.inputs}
    run = deploy.run(compiled, inputs)
    assert run.count is not None
    expected = deploy.load(path).run(inputs)
    if not all(np.array_equal(run.outputs[name], expected[name]) for name in expected):
        raise SystemExit(f"{path} does not give the reference's bits with {records}")
    return Measured(run.count.median, compiled.report.facts.constants_bytes, dict(run.outputs))  # type: ignore[arg-type]


def _text(model: str, before: Measured, after: Measured, kept: Measured) -> str:
    same = all(
        np.array_equal(before.outputs[name], other.outputs[name])
        for other in (after, kept)
        for name in before.outputs
    )
    cells = (
        model,
        f"{before.instructions:,}",
        f"{after.instructions:,}",
        f"{1 - after.instructions / before.instructions:.1%}",
        f"{before.constants_bytes:,} -> {after.constants_bytes:,}",
        f"{kept.instructions:,}",
        f"{1 - kept.instructions / before.instructions:.1%}",
        "yes" if same else "NO",
    )
    return "| " + " | ".join(cells) + " |"
