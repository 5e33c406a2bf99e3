"""Arrays as users have them: NumPy's, tensors of frameworks, lists, and loaders that give batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from aot.errors import InputError
from aot.ir.types import Array
from deploy.verification.quality import LABELS

Inputs = Mapping[str, Array] | Sequence[Array] | Array


def plain(value: Any) -> Array:
    """An array, also of a tensor that is on a GPU or takes part in training."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
    array = np.asarray(value)
    if array.dtype == object:
        raise InputError(
            f"a {type(value).__name__} is no array of numbers",
            hint="give a NumPy array, a tensor, or a list of samples of one shape",
        )
    return array


def by_name(inputs: Any) -> dict[str, Array]:
    """Arrays by input name, or by input_0, input_1, ... where they have no names; a loader's are joined."""
    if is_loader(inputs):
        return joined(inputs)
    if isinstance(inputs, Mapping):
        return {str(name): plain(array) for name, array in inputs.items()}
    arrays = inputs if isinstance(inputs, list | tuple) else [inputs]
    return {f"input_{number}": plain(array) for number, array in enumerate(arrays)}


def is_loader(value: object) -> bool:
    """True for what gives batches one after the other, such as a DataLoader of PyTorch's."""
    is_array = hasattr(value, "__array__") or isinstance(value, Mapping | list | tuple | str)
    return hasattr(value, "__iter__") and not is_array


def joined(loader: Any) -> dict[str, Array]:
    """All batches of a loader as one series of each input; of pairs, the second part is the labels."""
    parts: dict[str, list[Array]] = {}
    for batch in loader:
        for name, array in _of_batch(batch).items():
            parts.setdefault(name, []).append(array)
    if not parts:
        raise InputError(f"the {type(loader).__name__} gives no batch", hint="it must not be used up before")
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
    """The arrays with the labels that are given beside them. Raises InputError where they have some too."""
    found = dict(arrays)
    if labels is None:
        return found
    if LABELS in found:
        raise InputError("labels are given beside the samples, which have some too", hint="leave one out")
    return {**found, LABELS: plain(labels)}


def without_labels(arrays: Mapping[str, Array], labels: Any) -> tuple[dict[str, Array], Array | None]:
    """The inputs, and the labels that are among them or given beside them."""
    found = with_labels(arrays, labels)
    return {name: array for name, array in found.items() if name != LABELS}, found.get(LABELS)
