"""Finds what the instruction sets add for a target, or for an op."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, reduce
from importlib import import_module

from aot.errors import ExtensionError
from aot.extensions import ISAS as GROUP
from aot.extensions import loaded
from aot.target import Target
from codegen.isa import ISAS
from codegen.isa.isa import Isa
from codegen.isa.plain.scalar_math import PORTABLE, ScalarMath
from codegen.kernels.kernel import Kernel
from codegen.kernels.schedule import Schedule
from codegen.kernels.table import KERNELS
from codegen.loops.lanes import Lanes


def isas() -> tuple[Isa, ...]:
    """All of them, the most able first: those of extensions are for cores that nothing of ours is for."""
    added = loaded(GROUP)
    wrong = next((name for name, isa in added.items() if not isinstance(isa, Isa)), None)
    if wrong is not None:
        raise ExtensionError(f'the extension "{wrong}" is not an Isa of codegen.isa.isa')
    return (*(isa for isa in added.values() if isinstance(isa, Isa)), *_ours())


@cache
def _ours() -> tuple[Isa, ...]:
    return tuple(import_module(f"codegen.isa.{name}.isa").ISA for name in ISAS)


def headers() -> frozenset[str]:
    """The headers of compilers that some instruction set's code includes."""
    return frozenset(header for isa in isas() for header in isa.headers)


def isas_of(target: Target) -> tuple[Isa, ...]:
    """The instruction sets that the core has, the most able first."""
    return tuple(isa for isa in isas() if isa.is_on(target))


def in_standard_c(target: Target) -> Target:
    """The target without the features that take more than standard C to use."""
    beyond = {feature for isa in isas() if not isa.is_standard_c for feature in isa.needs}
    return replace(target, features=target.features - beyond)


def schedules_of(op_name: str, target: Target) -> tuple[Schedule, ...]:
    """Returns the schedules of an op, best first: the instruction sets', then those of any core.

    An instruction set that the core lacks has one schedule here, which never fits: its code is not loaded.
    """
    special = [
        schedule
        for isa in isas()
        if op_name in isa.schedules
        for schedule in (isa.schedules[op_name] if isa.is_on(target) else (isa.unavailable,))
    ]
    return (*special, *KERNELS[op_name].schedules)


def lanes_of(target: Target) -> Lanes | None:
    """The elements side by side of the core's most able instruction set that has some."""
    return next((isa.lanes for isa in isas_of(target) if isa.lanes is not None), None)


def math_of(target: Target) -> ScalarMath:
    """The functions of plain C, with those of the core's instruction sets in place: the most able's last."""
    changes = [isa.math for isa in reversed(isas_of(target)) if isa.math is not None]
    return reduce(lambda math, change: change(math), changes, PORTABLE)


def rewritten(kernel: Kernel, target: Target) -> Kernel:
    """The kernel in instructions that serve every kernel."""
    rewrites = [isa.rewrite for isa in isas_of(target) if isa.rewrite is not None]
    return reduce(lambda made, rewrite: rewrite(made), rewrites, kernel)
