"""Reads inputs for a run, as arrays by name for one sample or a series, and checks them against the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np

from aot.errors import InputError, did_you_mean
from aot.ir.tensor_spec import TensorSpec
from aot.ir.types import Array, DType
from deploy.inputs.array_files import read_npz

RANDOM_SAMPLES = 3  # used by verify if no inputs are given
RANDOM_RUNS = 32  # the same for models with states, where a difference may grow from run to run
_SEED = 20_260_000  # arbitrary, but the same on every machine


@dataclass(frozen=True, slots=True)
class Samples:
    """A series of samples. Each has one array per input, in the model's order."""

    each: tuple[tuple[Array, ...], ...]
    is_series: bool  # outputs get an axis for samples, even for a single one
    is_batch: bool = False  # the samples replace the model's batch of 1

    def __len__(self) -> int:
        return len(self.each)

    def stacked(self, outputs: Sequence[Array]) -> Array:
        """Joins an output of all samples to one array, grouped like the inputs."""
        if not self.is_series:
            return outputs[0]
        joins = self.is_batch and outputs[0].shape[:1] == (1,)
        return np.concatenate(outputs) if joins else np.stack(outputs)


def read_samples(path: Path, specs: Sequence[TensorSpec]) -> Samples:
    """Reads the samples in an .npz file with the keys input name, or input_0, input_1, ..."""
    return make_samples(read_arrays(path), specs, path.name)


def make_samples(arrays: Mapping[str, Array], specs: Sequence[TensorSpec], where: str) -> Samples:
    """Checks arrays by name and splits them into samples. Raises InputError."""
    by_spec = _by_spec(arrays, specs, where)
    for spec, key, array in by_spec:
        _require_positions(spec, key, array, where)
    batches = {key for spec, key, array in by_spec if _is_batch(array, spec.shape)}
    by_spec = [(spec, key, np.expand_dims(a, 1) if key in batches else a) for spec, key, a in by_spec]
    lengths = {key: _length(array, key, spec, where) for spec, key, array in by_spec}
    series = {key: length for key, length in lengths.items() if length is not None}
    if not series:
        return Samples((tuple(array for _, _, array in by_spec),), is_series=False)
    if len(set(series.values())) > 1:
        counts = ", ".join(f'"{key}" has {length}' for key, length in series.items())
        raise InputError(
            f"the inputs have different numbers of samples: {counts}",
            where,
            "give the same number of samples for each input",
        )
    count = next(iter(series.values()))
    if count == 0:
        raise InputError(
            "the series has 0 samples", where, "its first axis counts the samples; at least 1 is needed"
        )
    each = (tuple(a[i] if key in series else a for _, key, a in by_spec) for i in range(count))
    return Samples(tuple(each), is_series=True, is_batch=series.keys() <= batches)


def _require_positions(spec: TensorSpec, key: str, array: Array, where: str) -> None:
    if spec.limits is None:
        return
    low, high = spec.limits
    outside = array[np.less(array, low) | np.greater(array, high)]
    if outside.size:
        raise InputError(
            f'the position {outside.reshape(-1)[0]} in "{key}" is outside of {low} to {high}',
            where,
            "reset the states and begin at position 0, or export the model with longer caches",
        )


def random_samples(specs: Sequence[TensorSpec], count: int) -> Samples:
    """Returns reproducible random samples, alternating between centered, far from zero, and a step.

    Centered values do not reveal lost precision in sums, or saturation.
    """
    rng = np.random.default_rng(_SEED)
    kinds = (_centred, _far, _step)
    each = (tuple(kinds[n % len(kinds)](spec, rng) for spec in specs) for n in range(count))
    return Samples(tuple(each), is_series=True)


_DEVIATIONS_AWAY = 100.0  # distance of the mean from zero in standard deviations
_QUANTISED_BITS = 16  # wider integers are counts and indices


def _centred(spec: TensorSpec, rng: np.random.Generator) -> Array:
    """Returns standard normal values, integers over their whole range, or indices that exist."""
    dtype = spec.type.dtype
    if dtype.is_integer or spec.indices:
        low, high = spec.indices or spec.limits or dtype.limits
        if dtype.is_integer:
            low, high = max(low, dtype.limits[0]), min(high, dtype.limits[1])
        return rng.integers(low, high, spec.shape, np.int64, endpoint=True).astype(spec.dtype)
    return rng.standard_normal(spec.shape).astype(spec.dtype)


def _far(spec: TensorSpec, rng: np.random.Generator) -> Array:
    """Returns values far from zero; integers near their upper limit."""
    if not _is_a_signal(spec):
        return _centred(spec, rng)
    if spec.type.dtype.is_integer:
        low, high = spec.type.dtype.limits
        return rng.integers(high - (high - low) // 16, high, spec.shape, endpoint=True).astype(spec.dtype)
    return (_DEVIATIONS_AWAY + rng.standard_normal(spec.shape)).astype(spec.dtype)


def _step(spec: TensorSpec, rng: np.random.Generator) -> Array:
    """Returns one value up to a random position and another after it."""
    if not _is_a_signal(spec):
        return _centred(spec, rng)
    low, high = spec.type.dtype.limits if spec.type.dtype.is_integer else (-1, 10)
    flat = np.full(prod(spec.shape), low, spec.dtype)
    flat[rng.integers(0, max(1, flat.size)) :] = high
    return flat.reshape(spec.shape)


def _is_a_signal(spec: TensorSpec) -> bool:
    dtype = spec.type.dtype
    if spec.indices:
        return False
    return dtype is DType.F32 or (dtype.is_integer and dtype.bytes * 8 <= _QUANTISED_BITS)


def read_arrays(path: Path) -> dict[str, Array]:
    """Reads all arrays of an .npz file. Raises InputError."""
    return read_npz(path, "file of inputs", "write one with NumPy: np.savez(file, input_0=array)")


def _by_spec(
    arrays: Mapping[str, Array], specs: Sequence[TensorSpec], where: str
) -> list[tuple[TensorSpec, str, Array]]:
    """Returns each input with its key and array."""
    _refuse_unknown(arrays, specs, where)
    found = []
    for number, spec in enumerate(specs):
        keys = [key for key in dict.fromkeys((spec.name, f"input_{number}")) if key in arrays]
        if not keys:
            raise InputError(f'input "{spec.name}" is missing', _given(arrays, where), _takes(specs))
        if len(keys) > 1:
            raise InputError(
                f'input "{spec.name}" occurs twice, as {_quoted(keys)}', where, "omit one of them"
            )
        array = _in_single_precision(np.asarray(arrays[keys[0]]), spec)
        found.append((spec, keys[0], _as_taken(array, spec.shape)))
    return found


def _in_single_precision(array: Array, spec: TensorSpec) -> Array:
    """Converts double precision, NumPy's default, to single."""
    if spec.dtype == np.float32 and array.dtype.kind == "f":
        return array.astype(np.float32)
    return array


def _as_taken(array: Array, shape: tuple[int, ...]) -> Array:
    """Reshapes an array whose elements are only grouped differently, such as a flattened image."""
    if _only_regroups(array.shape, shape) or (array.ndim == 1 and array.size == prod(shape)):
        return array.reshape(shape)
    if array.shape and _only_regroups(array.shape[1:], shape):
        return array.reshape((len(array), *shape))
    if array.shape and _only_regroups((1, *array.shape[1:]), shape):
        return array.reshape((len(array), *shape[1:]))
    return array


def _is_batch(array: Array, shape: tuple[int, ...]) -> bool:
    """Returns whether the array has N samples for a model with batch 1. A batch of 1 counts as one sample."""
    return (
        shape[:1] == (1,)
        and array.ndim == len(shape)
        and array.shape[1:] == shape[1:]
        and array.shape[:1] != (1,)
    )


def _only_regroups(given: tuple[int, ...], taken: tuple[int, ...]) -> bool:
    """Returns whether both shapes start with a batch of one and differ only in how they group elements."""
    if given[:1] != (1,) or taken[:1] != (1,) or prod(given) != prod(taken):
        return False
    starts, others = ({prod(shape[i:]) for i in range(len(shape))} for shape in (given, taken))
    return starts <= others or others <= starts


def _refuse_unknown(arrays: Mapping[str, Array], specs: Sequence[TensorSpec], where: str) -> None:
    known = {spec.name for spec in specs} | {f"input_{number}" for number in range(len(specs))}
    for key in arrays:
        if key not in known:
            raise InputError(
                f'the model has no input "{key}"{did_you_mean(key, known)}', where, _takes(specs)
            )


def _length(array: Array, key: str, spec: TensorSpec, where: str) -> int | None:
    """Returns the number of samples in the array, or None if it is a single one without a sample axis."""
    if array.dtype != spec.dtype:
        raise InputError(
            f"{_called(key, spec)} has elements of {array.dtype}, the model needs {spec}",
            where,
            _conversion(spec, array),
        )
    if array.shape == spec.shape:
        return None
    if array.shape[1:] == spec.shape and array.ndim == len(spec.shape) + 1:
        return len(array)
    raise InputError(
        f"{_called(key, spec)} has shape {list(array.shape)}, the model needs {list(spec.shape)}",
        where,
        f"N samples have shape [{', '.join(map(str, ('N', *spec.shape[spec.shape[:1] == (1,) :])))}]",
    )


def _called(key: str, spec: TensorSpec) -> str:
    """Formats an input's given name, with the model's name if it differs."""
    return f'"{key}"' if key == spec.name else f'"{key}" ("{spec.name}")'


# By element type of the array and the model. A plain astype would turn 200 into -56, black into white.
_SIGN_CHANGES: Mapping[tuple[str, str], str] = {
    ("uint8", "int8"): "(x.astype(np.int16) - 128).astype(np.int8)",
    ("int8", "uint8"): "(x.astype(np.int16) + 128).astype(np.uint8)",
}


def _conversion(spec: TensorSpec, array: Array) -> str:
    quant = spec.type.quant
    moved = _SIGN_CHANGES.get((array.dtype.name, spec.dtype.name))
    if moved:
        return f"if these are pixels, only the zero point differs: {moved}"
    if array.dtype.kind != "f" or quant is None or quant.is_per_channel:
        return f"if the values are correct as they are: x.astype(np.{spec.dtype})"
    low, high = spec.type.dtype.limits
    rounded = f"np.round(x / {quant.scale:.9g}) + {quant.zero_point}"
    by_hand = f"np.clip({rounded}, {low}, {high}).astype(np.{spec.dtype})"
    return f"use --quantize (quantize=True in Python), or {by_hand}"


def _takes(specs: Sequence[TensorSpec]) -> str:
    return "\n".join(
        f'{"the model needs " if number == 0 else ""}"{spec.name}" or "input_{number}": {spec}'
        for number, spec in enumerate(specs)
    )


def _given(arrays: Mapping[str, Array], where: str) -> str:
    return f"{where} holds {_quoted(arrays) or 'nothing'}"


def _quoted(keys: Sequence[str] | Mapping[str, Array]) -> str:
    return ", ".join(f'"{key}"' for key in keys)
