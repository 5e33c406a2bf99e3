"""Finds what the named accelerators add for an op."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module

from aot.errors import ExtensionError
from aot.extensions import ACCELERATORS as GROUP
from aot.extensions import loaded
from codegen.accelerators import ACCELERATORS
from codegen.accelerators.accelerator import Accelerator
from codegen.isa.table import schedules_of
from codegen.kernels.kernel import PassedOver
from codegen.kernels.schedule import Schedule


def accelerators() -> Mapping[str, Accelerator]:
    """All of them by name: the tree's own, then those of extensions."""
    added = {name: _accelerator(name, value) for name, value in loaded(GROUP).items()}
    taken = next((name for name in added if name in ACCELERATORS), None)
    if taken is not None:
        raise ExtensionError(f'the extension "{taken}" has the name of an accelerator of Solder')
    return {**_ours(), **added}


def _accelerator(name: str, value: object) -> Accelerator:
    if not isinstance(value, Accelerator):
        raise ExtensionError(
            f'the extension "{name}" is no Accelerator of codegen.accelerators.accelerator',
            hint="docs/adding-an-accelerator.md",
        )
    return value


@cache
def _ours() -> Mapping[str, Accelerator]:
    modules = {name: import_module(f"codegen.accelerators.{name}.accelerator") for name in ACCELERATORS}
    return {name: module.ACCELERATOR for name, module in modules.items()}


def schedules_with(names: Sequence[str], op_name: str) -> tuple[Schedule, ...]:
    """All schedules of an op, best first: those of the accelerators come before the others."""
    known = accelerators() if names else {}
    theirs = [schedule for name in names for schedule in known[name].schedules.get(op_name, ())]
    return (*theirs, *schedules_of(op_name))


def without_schedules(names: Sequence[str], op_name: str) -> tuple[PassedOver, ...]:
    """The accelerators that compute no layers of an op."""
    known = accelerators() if names else {}
    return tuple(
        PassedOver(name, f"it computes no {op_name}")
        for name in names
        if op_name not in known[name].schedules
    )
