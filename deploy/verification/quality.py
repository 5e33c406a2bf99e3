"""The quality of outputs: classes compared with labels, numbers with expected ones."""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aot.errors import InputError, did_you_mean
from aot.ir.tensor_spec import TensorSpec
from aot.ir.types import Array
from deploy.cli.console import table
from deploy.inputs.array_files import read_npy
from deploy.inputs.samples import read_arrays

LABELS = "labels"  # key in a file with several arrays
_MOST_CLASSES = 12  # maximum in a confusion table, to fit a terminal
_MOST_MISTAKES = 8  # shown otherwise

Outputs = Sequence[tuple[Array, ...]]  # by sample


@dataclass(frozen=True, slots=True)
class Truth:
    """Known facts about the samples: classes, expected outputs, or nothing."""

    labels: Array | None = None
    expected: Mapping[str, Array] | None = None  # by name or output_0, ...; the first axis counts samples


NOTHING_KNOWN = Truth()


@dataclass(frozen=True)
class Accuracy:
    """The fraction of samples classified as their label, on the board and by the reference."""

    board: float
    reference: float
    confusion: tuple[tuple[int, int, int], ...]  # (label, class on the board, samples), also correct ones

    def __str__(self) -> str:
        head = f"accuracy  {self.board:.2%} on the board, {self.reference:.2%} by the reference"
        return "\n".join([head, *self._confusion()])

    def _confusion(self) -> Iterator[str]:
        classes = sorted({each for label, found, _ in self.confusion for each in (label, found)})
        if len(classes) <= _MOST_CLASSES:
            counts = {(label, found): count for label, found, count in self.confusion}
            rows = [(str(a), *(str(counts.get((a, b), 0)) for b in classes)) for a in classes]
            yield f"\n{table(('label', *map(str, classes)), rows)}\n(columns: class on the board)"
            return
        wrong = sorted((c for c in self.confusion if c[0] != c[1]), key=lambda c: -c[2])[:_MOST_MISTAKES]
        rows = [tuple(map(str, each)) for each in wrong]
        if rows:
            yield f"\n{table(('label', 'on the board', 'samples'), rows)}"


@dataclass(frozen=True, slots=True)
class Distance:
    """The distance of an output from the expected one, over all samples."""

    output: str
    rmse: float
    mae: float
    largest: float
    cosine: float | None  # similarity of both as one vector; None if one of them is zero


def read_labels(path: Path) -> Array:
    """Reads classes from an .npy file, or from "labels" in an .npz file. Raises InputError."""
    if _is_npz(path):
        arrays = read_arrays(path)
        if LABELS not in arrays:
            held = ", ".join(f'"{key}"' for key in arrays) or "nothing"
            raise InputError(f'the file of labels has no "{LABELS}"', f"{path} holds {held}")
        return arrays[LABELS]
    return read_npy(path, "file of labels", "write one with NumPy: np.save(file, labels)")


def _is_npz(path: Path) -> bool:
    return path.is_file() and zipfile.is_zipfile(path)


def require_truth(truth: Truth, samples: int, specs: Sequence[TensorSpec]) -> None:
    """Raises InputError if the facts do not match the number of samples and the outputs."""
    if truth.labels is not None:
        _require_labels(truth.labels, samples, specs[0])
    if truth.expected is not None:
        _by_output(truth.expected, samples, specs)


def accuracy_of(labels: Array, board: Outputs, reference: Outputs) -> Accuracy:
    """Computes the accuracy. A sample's class is the index of the first output's largest value."""
    found, meant = _classes(board), _classes(reference)
    counts = Counter(zip(labels.reshape(-1).tolist(), found.tolist(), strict=True))
    confusion = tuple((int(a), int(b), count) for (a, b), count in sorted(counts.items()))
    right = labels.reshape(-1)
    return Accuracy(float((found == right).mean()), float((meant == right).mean()), confusion)


def distances_to(
    expected: Mapping[str, Array], board: Outputs, specs: Sequence[TensorSpec]
) -> tuple[Distance, ...]:
    """Compares expected floats with dequantized outputs."""
    wanted = _by_output(expected, len(board), specs)
    return tuple(
        _distance(spec, wanted[number], np.stack([outputs[number] for outputs in board]))
        for number, spec in enumerate(specs)
        if number in wanted
    )


def distances_text(distances: Sequence[Distance]) -> str:
    rows = [
        (d.output, f"{d.rmse:.6g}", f"{d.mae:.6g}", f"{d.largest:.6g}", _cosine_text(d.cosine))
        for d in distances
    ]
    return table(("output, expected", "RMSE", "MAE", "largest", "cosine"), rows)


def quality_json(accuracy: Accuracy | None, distances: Sequence[Distance]) -> dict[str, Any]:
    return {
        "accuracy": accuracy
        and {
            "board": accuracy.board,
            "reference": accuracy.reference,
            "confusion": [
                {"label": label, "board": found, "samples": count}
                for label, found, count in accuracy.confusion
            ],
        },
        "expected": [asdict(distance) for distance in distances],
    }


def _cosine_text(cosine: float | None) -> str:
    return "-" if cosine is None else f"{cosine:.6f}"


def _classes(outputs: Outputs) -> Array:
    return np.array([int(np.argmax(each[0])) for each in outputs])


def _require_labels(labels: Array, samples: int, spec: TensorSpec) -> None:
    if labels.dtype.kind not in "iu" or labels.size != samples:
        raise InputError(
            f"the labels are {labels.dtype}{list(labels.shape)}, but there are {samples} samples",
            hint="one class number for each sample",
        )
    if not is_of_classes(spec.shape):
        raise InputError(
            f'labels need a row of classes, but output "{spec.name}" is {spec}',
            hint="use --expected Z.npz to compare numbers",
        )


def is_of_classes(shape: Sequence[int]) -> bool:
    """Returns whether an output has one number per class: a single axis with more than one element."""
    return sum(size > 1 for size in shape) == 1


def _by_output(expected: Mapping[str, Array], samples: int, specs: Sequence[TensorSpec]) -> dict[int, Array]:
    """Returns the expected arrays by output index, with one row of elements per sample."""
    numbers = {spec.name: n for n, spec in enumerate(specs)}
    numbers |= {f"output_{n}": n for n in range(len(specs))}
    found = {}
    for key, array in expected.items():
        if key not in numbers:
            listed = ", ".join(f'"{name}"' for name in numbers)
            near = did_you_mean(key, numbers)
            raise InputError(f'the model has no output "{key}"{near}', hint=f"known: {listed}")
        spec = specs[numbers[key]]
        if array.size != samples * int(np.prod(spec.shape)):
            raise InputError(
                f'"{key}" is expected with shape {list(array.shape)}; for {samples} samples '
                f"the model returns {[samples, *spec.shape]}"
            )
        found[numbers[key]] = array.reshape((samples, *spec.shape))
    return found


def _distance(spec: TensorSpec, expected: Array, found: Array) -> Distance:
    quant = spec.type.quant
    if expected.dtype.kind == "f" and found.dtype.kind != "f" and quant and not quant.is_per_channel:
        found = quant.scale * (found.astype(np.float64) - quant.zero_point)
    a, b = expected.astype(np.float64).reshape(-1), found.astype(np.float64).reshape(-1)
    off, lengths = np.abs(a - b), float(np.linalg.norm(a) * np.linalg.norm(b))
    cosine = float(a @ b) / lengths if lengths else None
    return Distance(spec.name, float(np.sqrt((off**2).mean())), float(off.mean()), float(off.max()), cosine)
