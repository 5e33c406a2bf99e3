"""Chooses the layers whose weights get four bits: those with the least loss per saved byte.

A layer's loss is measured with only its weights rounded to four bits; losses are assumed to add up. Layers
are chosen in order of loss per saved byte until the weights fit. Then those with the largest loss return to
eight bits as far as there is space, and layers are exchanged as long as the loss decreases. This is a
heuristic for a knapsack problem: usually optimal, but not always.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aot.errors import ModelError

WIDE, NARROW = 8, 4  # bits


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """Weights of a layer that may have four bits."""

    name: str  # of the constant
    value: str  # the layer's result
    op: str
    elements: int
    noise: float  # relative error of the outputs if only these weights have four bits
    node: str = ""

    @property
    def saved(self) -> int:
        """Bytes saved by four bits."""
        return self.elements - self.bytes_of(NARROW)

    def bytes_of(self, bits: int) -> int:
        return -(-self.elements * bits // WIDE)


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound for mixed weights: their size in bytes, or the outputs' signal-to-noise ratio in decibels."""

    flash: int | None = None
    signal_to_noise_db: float | None = None
    among: frozenset[str] | None = None  # weights that may have four bits; None: all

    def narrow(
        self, layers: Sequence[LayerWeights], noise_of: Callable[[frozenset[str]], float]
    ) -> frozenset[str]:
        """Returns the layers that get four bits. Raises ModelError if even four bits for all exceed the size.

        `noise_of` measures the noise of several layers together.
        """
        layers = [each for each in layers if self.among is None or each.name in self.among]
        if self.flash is not None:
            return _within_flash(layers, self.flash)
        assert self.signal_to_noise_db is not None
        return narrow_above(layers, self.signal_to_noise_db, noise_of)


def _within_flash(layers: Sequence[LayerWeights], limit_bytes: int) -> frozenset[str]:
    narrow = narrow_within(layers, limit_bytes)
    if (least := bytes_with(layers, narrow)) > limit_bytes:
        raise ModelError(
            f"four-bit weights need {least:,} bytes, more than the limit of {limit_bytes:,}",
            "",
            "use a model with fewer channels or layers",
        )
    return narrow


def narrow_above(
    layers: Sequence[LayerWeights], least_db: float, noise_of: Callable[[frozenset[str]], float]
) -> frozenset[str]:
    """Returns the layers that get four bits so that outputs keep a signal-to-noise ratio of `least_db`.

    Layers are added in order of loss per saved byte while the sum of losses permits. Because losses do not
    add up exactly, the result is then measured, and the layer with the largest loss is removed until the
    bound holds.
    """
    limit, total = 10 ** (-least_db / 10), 0.0
    found: list[LayerWeights] = []
    for layer in sorted((each for each in layers if each.saved), key=lambda each: each.noise / each.saved):
        if total + layer.noise <= limit:
            found.append(layer)
            total += layer.noise
    while found and noise_of(frozenset(layer.name for layer in found)) > limit:
        found.remove(max(found, key=lambda layer: layer.noise))
    return frozenset(layer.name for layer in found)


def bytes_with(layers: Sequence[LayerWeights], narrow: frozenset[str]) -> int:
    """Returns the size of all weights if the named ones have four bits."""
    return sum(layer.bytes_of(NARROW if layer.name in narrow else WIDE) for layer in layers)


def narrow_within(layers: Sequence[LayerWeights], limit_bytes: int) -> frozenset[str]:
    """Returns the layers that get four bits so that all weights fit into `limit_bytes`, if possible."""
    by_loss = sorted((layer for layer in layers if layer.saved), key=lambda layer: layer.noise / layer.saved)
    found: frozenset[str] = frozenset()
    for layer in by_loss:
        if bytes_with(layers, found) <= limit_bytes:
            break
        found |= {layer.name}
    for layer in sorted(by_loss, key=lambda layer: layer.noise, reverse=True):
        fewer = found - {layer.name}
        if bytes_with(layers, fewer) <= limit_bytes:
            found = fewer
    while (better := _with_another(by_loss, found, limit_bytes - bytes_with(layers, found))) is not None:
        found = better
    return found


def _with_another(layers: Sequence[LayerWeights], narrow: frozenset[str], room: int) -> frozenset[str] | None:
    """Returns the best exchange of one layer for another within `room` bytes, or None if none improves."""
    changes = [
        (taken.noise - new.noise, taken, new)
        for taken in layers
        for new in layers
        if taken.name in narrow and new.name not in narrow and taken.saved - new.saved <= room
    ]
    gain, taken, new = max(changes, key=lambda change: change[0], default=(0.0, None, None))
    return (
        (narrow - {taken.name}) | {new.name} if taken is not None and new is not None and gain > 0 else None
    )
