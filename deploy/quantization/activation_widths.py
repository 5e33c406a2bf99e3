"""Chooses the values that get 16 bits: those that lose most with eight, as few as the bound permits.

A value's loss is measured with only that value in eight bits and the others in 16. Values are widened in
order of decreasing loss, until the outputs are as close to the float model's as the bound requires.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aot.errors import InputError, ModelError
from aot.frontend.onnx.wide_activations import Activations, activations, widened
from aot.ir.types import Array
from deploy.cli.console import progress
from deploy.quantization.model_outputs import decibels, noise_of, outputs_of

DYNAMIC = "dynamic"  # each vector is quantized by its range in the run
ACTIVATIONS = ("int8", "int16", "mixed", DYNAMIC)
WIDE, NARROW = 16, 8  # bits


@dataclass(frozen=True, slots=True)
class Wider:
    """Which values get 16 bits: all possible ones, or as few as needed to meet a bound."""

    signal_to_noise_db: float | None = None  # minimum; None: widen all values
    has_narrow_ends: bool = False  # the model's inputs and outputs keep eight bits


def wider_of(activations: str, bound_db: float | None, has_narrow_ends: bool, example: str) -> Wider | None:
    """Returns the setting for one of ACTIVATIONS; None for int8 and dynamic.

    `example` shows how to set a bound.
    """
    if activations not in ACTIVATIONS:
        raise InputError(f'activation_type "{activations}" is not known', hint=", ".join(ACTIVATIONS))
    if activations in ("int8", DYNAMIC):
        return None
    if activations == "int16":
        return Wider(has_narrow_ends=has_narrow_ends)
    if bound_db is None:
        raise InputError("mixed activations need signal_to_noise, in decibels", hint=example)
    return Wider(bound_db, has_narrow_ends)


@dataclass(frozen=True, slots=True)
class ActivationWidth:
    """The width of a value, and the loss if only that value has eight bits."""

    value: str
    op: str  # that computes it; "input" for model inputs
    bits: int
    signal_to_noise_db: float


@dataclass(frozen=True, slots=True)
class Widened:
    """The widths of a quantized model's values, and the outputs' signal-to-noise ratio."""

    activations: tuple[ActivationWidth, ...]
    int8_db: float  # with all values in eight bits
    signal_to_noise_db: float


def widen(
    prepared: Path,
    int8: Path,
    samples: Sequence[Mapping[str, Array]],
    wider: Wider,
    open_session: Callable[[Path], Any],
) -> Widened:
    """Rewrites the int8 model of the prepared one, with some values in 16 bits."""
    outputs = outputs_of(open_session(prepared), samples)
    trial = prepared.with_name("wider.onnx")

    def noise_with(model: bytes) -> float:
        trial.write_bytes(model)
        return noise_of(outputs, outputs_of(open_session(trial), samples))

    data, found = _with_wider_activations(int8.read_bytes(), prepared.read_bytes(), wider, noise_with)
    int8.write_bytes(data)
    return found


def _with_wider_activations(
    data: bytes, real: bytes, wider: Wider, noise_of: Callable[[bytes], float]
) -> tuple[bytes, Widened]:
    """Returns the quantized model with values in 16 bits; `real` is the float model.

    Raises ModelError if even 16 bits for all values exceed the loss bound.
    """
    found = [each for each in activations(data, real) if not (wider.has_narrow_ends and each.is_end)]

    def model(chosen: Collection[Activations]) -> bytes:
        return widened(data, real, [name for each in chosen for name in each.values])

    noises = {}
    with progress("values of 16 bits", len(found)) as bar:
        for each in found:
            bar.step(each.values[0])
            noises[each] = noise_of(model([other for other in found if other is not each]))
    by_loss = sorted(found, key=lambda each: noises[each], reverse=True)
    int8 = noise = noise_of(data)
    wide: list[Activations] = []
    while len(wide) < len(found) and not _is_within(noise, wider):
        wide.append(by_loss[len(wide)])
        if wider.signal_to_noise_db is not None or len(wide) == len(found):
            noise = noise_of(model(wide))
    if wider.signal_to_noise_db is not None and not _is_within(noise, wider):
        raise _too_much(wider.signal_to_noise_db, decibels(noise))
    widths = tuple(_width(each, WIDE if each in wide else NARROW, noises[each]) for each in found)
    return model(wide), Widened(widths, decibels(int8), decibels(noise))


def _is_within(noise: float, wider: Wider) -> bool:
    return wider.signal_to_noise_db is not None and decibels(noise) >= wider.signal_to_noise_db


def _width(each: Activations, bits: int, noise: float) -> ActivationWidth:
    return ActivationWidth(each.values[0], each.op or "input", bits, decibels(noise))


def _too_much(asked_db: float, reached_db: float) -> ModelError:
    return ModelError(
        f"activations of 16 bits keep the outputs {reached_db:.1f} dB above the error,"
        f" less than the requested {asked_db:g} dB",
        "",
        f"--signal-to-noise {int(reached_db)}, or weights of eight bits, or --refine",
    )
