"""Collects the strategies that the requested accelerators add for an op, and their regions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from aot.errors import ExtensionError
from aot.extensions import ACCELERATORS as GROUP
from aot.extensions import loaded, part
from aot.ir.region import DeviceRegion
from aot.ops.op import Op
from aot.target import Target
from codegen.accelerators.names import ACCELERATORS
from codegen.isa.table import strategies_of
from codegen.kernels.kernel import PassedOver
from codegen.kernels.strategy import Strategy

if TYPE_CHECKING:
    from codegen.accelerators.accelerator import Accelerator


def accelerators() -> Mapping[str, Accelerator]:
    """Returns all accelerators by name: those included in Solder, then those of installed packages."""
    added = {name: _accelerator(name, value) for name, value in loaded(GROUP).items()}
    taken = next((name for name in added if name in ACCELERATORS), None)
    if taken is not None:
        raise ExtensionError(f'the extension "{taken}" has the same name as an accelerator of Solder')
    return {**_ours(), **added}


def _accelerator(name: str, value: object) -> Accelerator:
    from codegen.accelerators.accelerator import Accelerator

    if not isinstance(value, Accelerator):
        raise ExtensionError(
            f'the extension "{name}" is not an Accelerator of codegen.accelerators.accelerator',
            hint="deploy docs adding-an-accelerator",
        )
    return value


@cache
def _ours() -> Mapping[str, Accelerator]:
    return {name: part(name, "accelerator").ACCELERATOR for name in ACCELERATORS}


class _Configured:
    """Accelerators with their options, by the string that requests them. Each is created once."""

    def __init__(self) -> None:
        self._extensions: Mapping[str, object] | None = None
        self._made: dict[str, Accelerator] = {}

    def get(self, word: str) -> Accelerator:
        extensions = loaded(GROUP)
        if self._extensions is not extensions:
            self._extensions, self._made = extensions, {}
        if word not in self._made:
            name, _, settings = word.partition(":")
            self._made[word] = _configured(name, accelerators()[name], settings)
        return self._made[word]


_CONFIGURED = _Configured()


def asked_for(words: Sequence[str]) -> Mapping[str, Accelerator]:
    """Returns the accelerators that these strings request. Raises WrongValueError."""
    return {device_of(word): _CONFIGURED.get(word) for word in words}


def device_of(word: str) -> str:
    """Returns the accelerator's name, without its options."""
    return word.partition(":")[0]


def _configured(name: str, known: Accelerator, words: str) -> Accelerator:
    from codegen.accelerators.accelerator import read_settings
    from codegen.accelerators.guarded import guarded

    settings = read_settings(name, known.options, words)
    made = known.configured(settings) if known.configured is not None else known
    if name not in ACCELERATORS:
        made = guarded(name, made)
    regions = made.regions
    return replace(
        made,
        strategies={op: _of_device(name, strategies) for op, strategies in made.strategies.items()},
        regions=regions and replace(regions, strategies=_of_device(name, regions.strategies)),
    )


def _of_device(name: str, strategies: Sequence[Strategy]) -> tuple[Strategy, ...]:
    return tuple(replace(strategy, device=name) for strategy in strategies)


def strategies_with(words: Sequence[str], op: Op, target: Target) -> tuple[Strategy, ...]:
    """Returns all strategies of an op, best first: the accelerators', then all others.

    For a region, these are its device's only, since nothing else can run it.
    """
    known = asked_for(words)
    if isinstance(op, DeviceRegion):
        regions = known[op.device].regions
        return regions.strategies if regions is not None else ()
    theirs = [strategy for each in known.values() for strategy in each.strategies.get(op.name, ())]
    return (*theirs, *strategies_of(op.name, target))


def without_strategies(words: Sequence[str], op: Op) -> tuple[PassedOver, ...]:
    """Returns the accelerators without strategies for an op; regions are omitted, as claims have reasons."""
    if isinstance(op, DeviceRegion):
        return ()
    return tuple(
        PassedOver(name, f"it does not support {op.name}", name)
        for name, each in asked_for(words).items()
        if op.name not in each.strategies and (each.regions is None or each.strategies)
    )
