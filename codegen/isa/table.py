"""Collects the parts that the instruction sets add for a target or an op."""

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
from codegen.kernels.strategy import Strategy
from codegen.kernels.table import KERNELS
from codegen.loops.tensorize import Lanes


def isas() -> tuple[Isa, ...]:
    """Returns all instruction sets, the most capable first. Those of extensions are last."""
    added = loaded(GROUP)
    wrong = next((name for name, isa in added.items() if not isinstance(isa, Isa)), None)
    if wrong is not None:
        raise ExtensionError(f'the extension "{wrong}" is not an Isa of codegen.isa.isa')
    return (*(isa for isa in added.values() if isinstance(isa, Isa)), *_ours())


@cache
def _ours() -> tuple[Isa, ...]:
    return tuple(import_module(f"codegen.isa.{name}.isa").ISA for name in ISAS)


def headers() -> frozenset[str]:
    """Returns the compiler headers that instruction sets include."""
    return frozenset(header for isa in isas() for header in isa.headers)


def isas_of(target: Target) -> tuple[Isa, ...]:
    """Returns the instruction sets of the core, the most capable first."""
    return tuple(isa for isa in isas() if isa.is_on(target))


def in_standard_c(target: Target) -> Target:
    """Returns the target without features whose code is not standard C."""
    beyond = {feature for isa in isas() if not isa.is_standard_c for feature in isa.needs}
    return replace(target, features=target.features - beyond)


def strategies_of(op_name: str, target: Target) -> tuple[Strategy, ...]:
    """Returns the strategies of an op, best first: the instruction sets', then those of any core.

    An instruction set that the core lacks has one strategy here, which never fits: its code is not loaded.
    """
    special = [
        strategy
        for isa in isas()
        if op_name in isa.strategies
        for strategy in (isa.strategies[op_name] if isa.is_on(target) else (isa.unavailable,))
    ]
    return (*special, *KERNELS[op_name].strategies)


def lanes_of(target: Target) -> Lanes | None:
    """Returns the vector lanes of the core's most capable instruction set that has any."""
    return next((isa.lanes for isa in isas_of(target) if isa.lanes is not None), None)


def math_of(target: Target) -> ScalarMath:
    """Returns the scalar functions: plain C's, replaced by the core's instruction sets, most capable last."""
    changes = [isa.math for isa in reversed(isas_of(target)) if isa.math is not None]
    return reduce(lambda math, change: change(math), changes, PORTABLE)


def rewritten(kernel: Kernel, target: Target) -> Kernel:
    """Returns the kernel after the rewrites that the core's instruction sets apply to every kernel."""
    rewrites = [isa.rewrite for isa in isas_of(target) if isa.rewrite is not None]
    return reduce(lambda made, rewrite: rewrite(made, target), rewrites, kernel)
