"""Converts the user's data to arrays: NumPy arrays, framework tensors, lists, and batch loaders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from aot.errors import InputError
from aot.ir.types import Array
from deploy.verification.quality import LABELS

Inputs = Mapping[str, Array] | Sequence[Array] | Array


def plain(value: Any) -> Array:
    """Returns an array, also for tensors on a GPU or with gradients."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
    try:
        array = np.asarray(value)
    except (ValueError, TypeError):  # parts of different shapes; tensors on a GPU in a list
        array = np.asarray(None)
    if array.dtype == object:
        raise InputError(
            f"a {type(value).__name__} is not an array of numbers",
            hint="give a NumPy array, a tensor, or a list of samples of one shape\n"
            "for pairs: [x for x, _ in pairs] with labels=[y for _, y in pairs], or a DataLoader",
        )
    return array


def by_name(inputs: Any) -> dict[str, Array]:
    """Returns arrays by input name, or as input_0, input_1, ...; batches of a loader are joined."""
    if is_loader(inputs):
        return joined(inputs)
    if isinstance(inputs, Mapping):
        return {str(name): plain(array) for name, array in inputs.items()}
    arrays = inputs if isinstance(inputs, list | tuple) else [inputs]
    return {f"input_{number}": plain(array) for number, array in enumerate(arrays)}


def only_inputs(inputs: Any) -> dict[str, Array]:
    """Returns arrays like by_name, without the labels of a loader's batches."""
    return without_labels(by_name(inputs), None)[0] if is_loader(inputs) else by_name(inputs)


def is_loader(value: object) -> bool:
    """Returns whether the value yields batches, like a PyTorch DataLoader."""
    is_array = hasattr(value, "__array__") or isinstance(value, Mapping | list | tuple | str)
    return hasattr(value, "__iter__") and not is_array


def joined(loader: Any) -> dict[str, Array]:
    """Joins all batches of a loader to one array per input. In pairs, the second part contains the labels."""
    parts: dict[str, list[Array]] = {}
    for batch in loader:
        for name, array in _of_batch(batch).items():
            parts.setdefault(name, []).append(array)
    if not parts:
        raise InputError(
            f"the {type(loader).__name__} returned no batch", hint="pass a loader that is not exhausted"
        )
    return {name: np.concatenate([np.atleast_1d(each) for each in found]) for name, found in parts.items()}


def _of_batch(batch: Any) -> dict[str, Array]:
    if isinstance(batch, Mapping):
        return {str(name): plain(array) for name, array in batch.items()}
    if not isinstance(batch, list | tuple):
        return {"input_0": plain(batch)}
    arrays = [plain(each) for each in batch]
    has_labels = len(arrays) > 1 and arrays[-1].dtype.kind in "iu" and arrays[-1].ndim == 1
    inputs = arrays[:-1] if has_labels else arrays
    found = {f"input_{number}": array for number, array in enumerate(inputs)}
    return {**found, LABELS: arrays[-1]} if has_labels else found


def with_labels(arrays: Mapping[str, Array], labels: Any) -> dict[str, Array]:
    """Adds separately given labels to the arrays. Raises InputError if these include labels already."""
    found = dict(arrays)
    if labels is None:
        return found
    if LABELS in found:
        raise InputError(
            "labels were given twice: as an argument and in the samples", hint="omit one of them"
        )
    return {**found, LABELS: plain(labels)}


def without_labels(arrays: Mapping[str, Array], labels: Any) -> tuple[dict[str, Array], Array | None]:
    """Returns the inputs and the labels, which may be among the arrays or given separately."""
    found = with_labels(arrays, labels)
    return {name: array for name, array in found.items() if name != LABELS}, found.get(LABELS)
