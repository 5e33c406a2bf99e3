"""Chooses the layers whose weights get four bits: those that lose least for each byte that they save.

A layer's loss is measured with its weights alone rounded to four bits, and losses are taken to add up. Layers
are taken in the order of their loss for a byte until the weights fit. Then those that lose most are given
back eight bits as far as there is room, and one layer takes another's place as long as that loses less. It is
the least loss in most cases and not in all: the best choice within a bound is a knapsack.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aot.errors import ModelError

WIDE, NARROW = 8, 4  # bits


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """The weights of a layer that may have four bits."""

    name: str  # of the constant
    value: str  # the layer's result
    op: str
    elements: int
    noise: float  # of the outputs where these weights alone have four bits, beside the signal
    node: str = ""

    @property
    def saved(self) -> int:
        """Bytes."""
        return self.elements - self.bytes_of(NARROW)

    def bytes_of(self, bits: int) -> int:
        return -(-self.elements * bits // WIDE)


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound of mixed weights: the bytes that they take, or the outputs' decibels above the error."""

    flash: int | None = None
    signal_to_noise_db: float | None = None
    among: frozenset[str] | None = None  # the weights that may have four bits; None: all

    def narrow(
        self, layers: Sequence[LayerWeights], noise_of: Callable[[frozenset[str]], float]
    ) -> frozenset[str]:
        """The layers that get four bits. Raises ModelError where too few bytes are left for four bits of all.

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
            f"weights of four bits take {least:,} bytes, more than the {limit_bytes:,} that they may",
            "",
            "a model with fewer channels or layers",
        )
    return narrow


def narrow_above(
    layers: Sequence[LayerWeights], least_db: float, noise_of: Callable[[frozenset[str]], float]
) -> frozenset[str]:
    """The layers that get four bits so that outputs stay so many decibels above the error that this makes.

    They are taken in the order of their loss for a byte as long as the sum of losses allows it. Since losses
    do not quite add up, all together are measured, and the one that loses most is given back until it holds.
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
    """The bytes of all weights where those named have four bits."""
    return sum(layer.bytes_of(NARROW if layer.name in narrow else WIDE) for layer in layers)


def narrow_within(layers: Sequence[LayerWeights], limit_bytes: int) -> frozenset[str]:
    """The layers that get four bits so that all weights take no more bytes, if they can."""
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
    """The best choice with another layer in place of one; None where none loses less in that room."""
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
