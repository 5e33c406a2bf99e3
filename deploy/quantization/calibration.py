"""Calibration data: representative samples of a model's inputs, with classes if known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aot.errors import InputError
from aot.ir.tensor_spec import TensorSpec
from aot.ir.types import Array
from deploy.inputs.samples import make_samples, read_arrays

LABELS = "labels"  # key, next to those of the inputs


@dataclass(frozen=True, slots=True)
class Calibration:
    """Samples in the model's format, and their classes if the file has labels."""

    samples: tuple[Mapping[str, Array], ...]
    labels: Array | None


def read_calibration(path: Path, specs: tuple[TensorSpec, ...]) -> Calibration:
    """Returns the samples in an .npz file.

    A first axis counts them; it may replace the model's batch of 1.
    """
    return make_calibration(read_arrays(path), specs, path.name)


def make_calibration(
    given: Mapping[str, Array], specs: tuple[TensorSpec, ...], where: str = "data"
) -> Calibration:
    """Returns calibration samples from arrays by name. Raises InputError."""
    arrays = dict(given)
    labels = arrays.pop(LABELS, None)
    samples = make_samples(arrays, specs, where).each
    if labels is not None and labels.shape != (len(samples),):
        raise InputError(
            f'"{LABELS}" has shape {list(labels.shape)}, for {len(samples)} samples',
            where,
            "one class number for each sample, or no labels at all",
        )
    names = [spec.name for spec in specs]
    each = tuple(dict(zip(names, sample, strict=True)) for sample in samples)
    for number, sample in enumerate(each):
        _require_finite(sample, number, where)
    return Calibration(each, labels)


def _require_finite(sample: Mapping[str, Array], number: int, where: str) -> None:
    """Raises InputError for infinities and NaN, which cannot limit a range."""
    for name, array in sample.items():
        count = int(np.count_nonzero(~np.isfinite(array)))
        if count:
            raise InputError(
                f'"{name}" has {count} values in sample {number} that are infinite or NaN',
                where,
                "remove that sample",
            )
