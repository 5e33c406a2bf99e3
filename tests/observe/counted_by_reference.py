"""The counters of --observe by the reference: from each layer's rows, the scores and the input."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from aot.interpret import run_all
from aot.ir.types import Array, DType
from artifact.row_packing import pack_rows
from codegen.model import LayerInfo
from deploy.benchmark.field_statistics import InputWindow
from deploy.compiler.compile_model import Compiled

_TABLE_ROW = re.compile(r"^    \{(\d+)u, (\d+)u, \du, ([12])u, (\d+)u, (\d+)u\},$", re.MULTILINE)
_MOST = 256


@dataclass
class Counted:
    """The counts that a series of runs must give."""

    runs: int = 0
    looked_at: int = 0
    saturated: int = 0
    worst: tuple[int, int] | None = None  # layer, share in 1/65535
    margins: list[int] = field(default_factory=lambda: [0] * 8)
    entropy: int = 0  # in 1/4096 bit
    windows: list[InputWindow] = field(default_factory=list)


def looked_at(compiled: Compiled) -> list[tuple[int, ...]]:
    """Layer, rows, ends, first end and mask of the layers that the model's C looks at."""
    text = compiled.artifact.sources[f"{compiled.artifact.name}.c"]
    return [tuple(map(int, row)) for row in _TABLE_ROW.findall(text)]


def counted(compiled: Compiled, samples: Iterable[Array], scores: str, stream_rows: int = 0) -> Counted:
    """The counters after these runs; `scores` is the value of the softmax, or "" of a model that has none."""
    found, graph, facts = Counted(), compiled.artifact.graph, compiled.artifact.facts
    table, (name,) = looked_at(compiled), graph.inputs
    seen: list[Array] = []  # of the input, a piece for each row or run
    rows = stream_rows or 1
    for run, sample in enumerate(samples):
        values = run_all(graph, {name: sample})
        if table:
            layer, layer_rows, *ends = table[run % len(table)]
            _look_at(found, facts.layers[layer], values, run // len(table), layer_rows, ends)
        if scores:
            _score(found, values[scores].reshape(-1), graph.types[scores].dtype)
        pieces = sample.reshape(rows, -1)
        each = min(pieces.shape[1], max(1, 32 // rows))
        stride = pieces.shape[1] // each
        seen += [piece[run % stride :: stride][:each] for piece in pieces]
        found.runs += 1
    window = min(rows * 64, (1 << 14) // each)
    found.windows = [
        _window(seen[start : start + window]) for start in range(0, len(seen) - window + 1, window)
    ]
    return found


def _look_at(
    found: Counted, layer: LayerInfo, values: Mapping[str, Array], turn: int, rows: int, ends: list[int]
) -> None:
    packed = pack_rows(values[layer.value], layer.format, layer.rows)
    stored = np.frombuffer(packed, f"<u{layer.format.dtype_bytes}").astype(np.int64).reshape(rows, -1)
    row = stored[turn % rows]
    start = turn // rows % -(-len(row) // _MOST) * _MOST
    seen = row[start : start + _MOST]
    count, first, mask = ends
    hits = int((((seen - first) & mask) < count).sum())
    share = hits * 65535 // len(seen)
    found.looked_at += len(seen)
    found.saturated += hits
    if share > (found.worst[1] if found.worst else 0):
        found.worst = (layer.index, share)


def _score(found: Counted, scores: Array, dtype: DType) -> None:
    if dtype is DType.F32:
        in_256 = np.clip(np.floor(scores * np.float32(256)), 0, 256).astype(np.int64)
    else:
        in_256 = scores.astype(np.int64) + 128
    second, best = np.sort(in_256)[-2:]
    found.margins[min(7, int(best - second) // 32)] += 1
    found.entropy += sum(round(-p / 256 * math.log2(p / 256) * 4096) for p in in_256.tolist() if p)


def _window(pieces: list[Array]) -> InputWindow:
    """Sums of reals in single precision, in the order of the C."""
    is_real = pieces[0].dtype == np.float32
    total = squares = np.float32(0) if is_real else 0
    for piece in pieces:
        one = two = np.float32(0) if is_real else 0
        for value in piece if is_real else piece.astype(int).tolist():
            one, two = one + value, two + value * value
        total, squares = total + one, squares + two
    count = sum(map(len, pieces))
    mean = float(total) / count
    return InputWindow(mean, math.sqrt(max(0.0, float(squares) / count - mean * mean)))
