"""Inputs for a run: arrays by name, one sample or a series of them, checked against what the model takes."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np

from aot.errors import InputError, did_you_mean
from aot.ir.graph import Array
from deploy.tensors import Slot

RANDOM_SAMPLES = 3  # that verify takes where nobody gives inputs
_SEED = 20_260_000  # any number; the same on every machine


@dataclass(frozen=True, slots=True)
class Samples:
    """One array per input for each sample, in the order of the model's inputs."""

    each: tuple[tuple[Array, ...], ...]
    is_series: bool  # whether outputs are stacked, though there be one sample only

    def __len__(self) -> int:
        return len(self.each)


def read_samples(path: Path, slots: Sequence[Slot]) -> Samples:
    """The samples in an .npz file whose keys are input names, or input_0, input_1, ..."""
    return make_samples(read_arrays(path), slots, path.name)


def make_samples(arrays: Mapping[str, Array], slots: Sequence[Slot], where: str) -> Samples:
    """Checks arrays by name and cuts them into samples. Raises InputError."""
    by_slot = _by_slot(arrays, slots, where)
    lengths = {key: _length(array, key, slot, where) for slot, key, array in by_slot}
    series = {key: length for key, length in lengths.items() if length is not None}
    if not series:
        return Samples((tuple(array for _, _, array in by_slot),), is_series=False)
    if len(set(series.values())) > 1:
        counts = ", ".join(f'"{key}" has {length}' for key, length in series.items())
        raise InputError(f"the inputs have different numbers of samples: {counts}", where)
    count = next(iter(series.values()))
    if count == 0:
        raise InputError("the series has 0 samples", where, "its first axis counts the samples: 1 or more")
    each = (tuple(a[i] if key in series else a for _, key, a in by_slot) for i in range(count))
    return Samples(tuple(each), is_series=True)


def random_samples(slots: Sequence[Slot], count: int) -> Samples:
    """Numbers from all of the integers' range, the same in every run."""
    rng = np.random.default_rng(_SEED)
    return Samples(tuple(tuple(_random(slot, rng) for slot in slots) for _ in range(count)), is_series=True)


def _random(slot: Slot, rng: np.random.Generator) -> Array:
    if slot.type.is_integer:
        low, high = slot.type.limits
        return rng.integers(low, high, slot.shape, np.int64, endpoint=True).astype(slot.dtype)
    return rng.standard_normal(slot.shape).astype(slot.dtype)


def read_arrays(path: Path) -> dict[str, Array]:
    """All arrays of an .npz file. Raises InputError."""
    try:
        with path.open("rb") as file:
            return _arrays(np.load(file, allow_pickle=False), path)
    except FileNotFoundError:
        raise InputError("the file of inputs does not exist", str(path)) from None
    except OSError as error:
        raise InputError(f"the file of inputs cannot be read: {error.strerror}", str(path)) from None
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error):
        # NumPy's own words would advise to load pickles
        raise InputError("the file of inputs is no .npz file of plain numbers", str(path), _HOW) from None


_HOW = "numpy writes one: np.savez(file, input_0=array)"


def _arrays(loaded: object, path: Path) -> dict[str, Array]:
    if not isinstance(loaded, np.lib.npyio.NpzFile):
        raise InputError("the file of inputs holds a single array without a name", str(path), _HOW)
    return {key: loaded[key] for key in loaded.files}


def _by_slot(arrays: Mapping[str, Array], slots: Sequence[Slot], where: str) -> list[tuple[Slot, str, Array]]:
    """Every input with the key and the array that are given for it."""
    _refuse_unknown(arrays, slots, where)
    found = []
    for number, slot in enumerate(slots):
        keys = [key for key in dict.fromkeys((slot.name, f"input_{number}")) if key in arrays]
        if not keys:
            raise InputError(f'input "{slot.name}" is missing', _given(arrays, where), _takes(slots))
        if len(keys) > 1:
            raise InputError(f'input "{slot.name}" is given twice, as {_quoted(keys)}', where)
        found.append((slot, keys[0], _as_taken(np.asarray(arrays[keys[0]]), slot.shape)))
    return found


def _as_taken(array: Array, shape: tuple[int, ...]) -> Array:
    """As the model takes it, where the same elements are only grouped otherwise: a vector, an image."""
    if _only_regroups(array.shape, shape):
        return array.reshape(shape)
    if array.shape and _only_regroups(array.shape[1:], shape):
        return array.reshape((len(array), *shape))
    return array


def _only_regroups(given: tuple[int, ...], taken: tuple[int, ...]) -> bool:
    """Whether both begin with a batch of one, and one's rows are made of whole rows of the other's."""
    if given[:1] != (1,) or taken[:1] != (1,) or prod(given) != prod(taken):
        return False
    starts, others = ({prod(shape[i:]) for i in range(len(shape))} for shape in (given, taken))
    return starts <= others or others <= starts


def _refuse_unknown(arrays: Mapping[str, Array], slots: Sequence[Slot], where: str) -> None:
    known = {slot.name for slot in slots} | {f"input_{number}" for number in range(len(slots))}
    for key in arrays:
        if key not in known:
            raise InputError(
                f'the model has no input "{key}"{did_you_mean(key, known)}', where, _takes(slots)
            )


def _length(array: Array, key: str, slot: Slot, where: str) -> int | None:
    """How many samples the array holds; None where it is one sample without an axis for them."""
    if array.dtype != slot.dtype:
        raise InputError(
            f'"{key}" has elements of {array.dtype}, the model takes {slot}', where, _conversion(slot, array)
        )
    if array.shape == slot.shape:
        return None
    if array.shape[1:] == slot.shape and array.ndim == len(slot.shape) + 1:
        return len(array)
    raise InputError(
        f'"{key}" has shape {list(array.shape)}, the model takes {list(slot.shape)}',
        where,
        f"a series of N samples has shape [N, {', '.join(map(str, slot.shape))}]",
    )


def _conversion(slot: Slot, array: Array) -> str:
    if array.dtype.kind != "f" or slot.scale is None:
        return f"if the values are meant like that: x.astype(np.{slot.dtype})"
    low, high = slot.type.limits
    rounded = f"np.round(x / {slot.scale:.9g}) + {slot.zero_point}"
    return f"quantise: np.clip({rounded}, {low}, {high}).astype(np.{slot.dtype})"


def _takes(slots: Sequence[Slot]) -> str:
    return "\n".join(
        f'{"the model takes " if number == 0 else ""}"{slot.name}" or "input_{number}": {slot}'
        for number, slot in enumerate(slots)
    )


def _given(arrays: Mapping[str, Array], where: str) -> str:
    return f"{where} holds {_quoted(arrays) or 'nothing'}"


def _quoted(keys: Sequence[str] | Mapping[str, Array]) -> str:
    return ", ".join(f'"{key}"' for key in keys)
