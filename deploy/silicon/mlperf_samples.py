"""Reads the sample sets of MLPerf Tiny, and computes the quality that the runner reports.

A folder has `y_labels.csv` and the files that it names. A row is `file,classes,class`, or for long recordings
`file,classes,class,window bytes,stride bytes`.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from aot.errors import InputError
from platforms.mlperf_tiny import Benchmark

LABELS = "y_labels.csv"
_HINT = "MLCommons' repository tiny, folder benchmark/evaluation/datasets, says where the files come from"

Scores = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sample:
    """A file of a set. Long recordings have several windows."""

    file: str
    classes: int
    label: int
    windows: tuple[bytes, ...]
    columns: tuple[str, ...]  # as in the list


@dataclass(frozen=True, slots=True)
class Quality:
    """How often a model is right."""

    top1_percent: float
    auc: float | None  # None if a class has no sample, or all samples are of one class


def read_samples(folder: Path, benchmark: Benchmark) -> list[Sample]:
    """Reads all samples of a set. Raises InputError."""
    path = folder / LABELS
    try:
        rows = [row for row in csv.reader(path.read_text(encoding="utf-8").splitlines()) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"the list of samples cannot be read: {error}", str(path), _HINT) from None
    if not rows:
        raise InputError("the list has no samples", str(path), _HINT)
    return [_sample(folder, row, benchmark, f"{path}, line {n}") for n, row in enumerate(rows, 1)]


def _sample(folder: Path, row: Sequence[str], benchmark: Benchmark, where: str) -> Sample:
    columns = tuple(text.strip() for text in row)
    if len(columns) not in (3, 5) or not all(text.isdecimal() for text in columns[1:]):
        raise InputError("a row is FILE,CLASSES,CLASS or FILE,CLASSES,CLASS,WINDOW,STRIDE", where, _HINT)
    file, (classes, label, *window) = columns[0], map(int, columns[1:])
    if label >= classes:
        raise InputError(f"class {label} of {classes} classes", where, _HINT)
    try:
        data = (folder / file).read_bytes()
    except OSError as error:
        raise InputError(f"a sample cannot be read: {error}", where, _HINT) from None
    size, stride = window or (len(data), 1)
    if size != benchmark.sample_bytes or len(data) < size or not stride:
        raise InputError(
            f"{file} has {len(data):,} bytes, with windows of {size:,}",
            where,
            f"samples of {benchmark.model} have {benchmark.sample_bytes:,} bytes",
        )
    starts = range(0, len(data) - size + 1, stride)
    return Sample(file, classes, label, tuple(data[at : at + size] for at in starts), columns)


def quality_of(samples: Sequence[Sample], results: Sequence[Sequence[Sequence[float]]]) -> Quality:
    """Returns the quality of the results: of each sample, of each window, of each class."""
    labels = np.array([sample.label for sample in samples])
    windows = [_normal(np.array(each, np.float64)) for each in results]
    means = np.array([each.mean(axis=0) for each in windows])
    if means.shape[1] == 1:  # the error of an autoencoder
        return Quality(_best_threshold(means[:, 0], labels), _auc(means[:, 0], labels == 1))
    most = [Counter(each.argmax(axis=1).tolist()).most_common(1)[0][0] for each in windows]
    top1 = 100 * float(np.mean(np.array(most) == labels))
    if means.shape[1] == 2:
        return Quality(top1, _auc(means[:, 1], labels == 1))
    each = [_auc(means[:, n], labels == n) for n in range(means.shape[1])]
    known = [auc for auc in each if auc is not None]
    return Quality(top1, sum(known) / len(known) if len(known) == len(each) else None)


def _normal(scores: Scores) -> Scores:
    if scores.shape[1] == 1:
        return scores
    sums = scores.sum(axis=1, keepdims=True)
    found: Scores = scores / np.where(sums == 0, 1, sums)
    return found


def _auc(scores: Scores, is_true: npt.NDArray[np.bool_]) -> float | None:
    """Returns how often a true sample scores higher than a false one; equal scores count half."""
    trues = int(is_true.sum())
    falses = len(is_true) - trues
    if not trues or not falses:
        return None
    _, places, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2
    return float((ranks[places][is_true].sum() - trues * (trues + 1) / 2) / (trues * falses))


def _best_threshold(errors: Scores, labels: npt.NDArray[np.int_]) -> float:
    """Returns the highest mean of precision and recall, in percent, over 100 thresholds."""
    low, high = errors.min(), errors.max()
    found = [0.0]
    for threshold in low + np.arange(0.0, 1.0, 0.01) * (high - low):
        above = errors > threshold
        right = int((above & (labels == 1)).sum())
        precision, recall = right / max(int(above.sum()), 1), right / max(int((labels == 1).sum()), 1)
        found.append(50 * (precision + recall))
    return max(found)
