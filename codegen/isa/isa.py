"""The parts that an instruction set adds to the compiler, for cores that have it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module

from aot.extensions import LazyTable
from aot.target import Feature, Target
from codegen.formats import RowFormat
from codegen.isa.plain.scalar_math import ScalarMath
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.strategy import RowRequests, Strategy
from codegen.loops.tensorize import Lanes


@dataclass(frozen=True)
class Isa:
    """One row of the table. All fields except name and needs are optional."""

    name: str
    needs: frozenset[Feature]
    strategies: Mapping[str, tuple[Strategy, ...]] = field(default_factory=dict)  # by op, best first
    math: Callable[[ScalarMath], ScalarMath] | None = None  # replaces scalar functions
    rewrite: Callable[[Kernel, Target], Kernel] | None = None  # of every kernel, after its strategy
    headers: tuple[str, ...] = ()  # included compiler headers; models cannot have these names
    lanes: Lanes | None = None  # its vector instructions for elements
    is_standard_c: bool = False  # no intrinsics, attributes or assembly: any compiler accepts its code
    saved_bytes: int = 0  # of stack, in functions that save registers because they use its instructions

    def is_on(self, target: Target) -> bool:
        return self.needs <= target.features

    @property
    def unavailable(self) -> Strategy:
        """Returns a placeholder strategy for cores that lack it, which reports the missing features."""
        return Strategy(self.name, _refuse_site, _refuse_rows, self.needs)


def _refuse_site(_site: Site) -> RowRequests:
    raise AssertionError("the core lacks the instruction set")


def _refuse_rows(_site: Site, _inputs: Sequence[RowFormat], _output: RowFormat) -> Kernel:
    raise AssertionError("the core lacks the instruction set")


def listed_strategies(
    package: str, table: Mapping[str, tuple[str, ...]]
) -> Mapping[str, tuple[Strategy, ...]]:
    """Returns the strategies by op, best first. `table` is the package's: strategy -> its ops.

    "depthwise" is `STRATEGY` in depthwise.py, "tiles.CONV2D" is `CONV2D` in tiles.py.
    """

    def load(op: str) -> tuple[Strategy, ...]:
        return tuple(_strategy(package, place) for place, ops in table.items() if op in ops)

    return LazyTable((op for ops in table.values() for op in ops), load)


def _strategy(package: str, place: str) -> Strategy:
    module, _, name = place.partition(".")
    found: Strategy = getattr(import_module(f"{package}.{module}"), name or "STRATEGY")
    return found
