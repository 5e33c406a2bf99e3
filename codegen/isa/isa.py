"""The parts that an instruction set adds to the compiler, for cores that have it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from aot.target import Feature, Target
from codegen.formats import RowFormat
from codegen.isa.plain.scalar_math import ScalarMath
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.schedule import RowRequests, Schedule
from codegen.loops.lanes import Lanes


@dataclass(frozen=True)
class Isa:
    """One row of the table. All fields except name and needs are optional."""

    name: str
    needs: frozenset[Feature]
    schedules: Mapping[str, tuple[Schedule, ...]] = field(default_factory=dict)  # by op, best first
    math: Callable[[ScalarMath], ScalarMath] | None = None  # replaces scalar functions
    rewrite: Callable[[Kernel], Kernel] | None = None  # of every kernel, after its schedule
    headers: tuple[str, ...] = ()  # included compiler headers; models cannot have these names
    lanes: Lanes | None = None  # its vector instructions for elements
    is_standard_c: bool = False  # no intrinsics, attributes or assembly: any compiler accepts its code
    saved_bytes: int = 0  # of stack, in functions that save registers because they use its instructions

    def is_on(self, target: Target) -> bool:
        return self.needs <= target.features

    @property
    def unavailable(self) -> Schedule:
        """Returns a placeholder schedule for cores that lack it, which reports the missing features."""
        return Schedule(self.name, _refuse_site, _refuse_rows, self.needs)


def _refuse_site(_site: Site) -> RowRequests:
    raise AssertionError("the core lacks the instruction set")


def _refuse_rows(_site: Site, _inputs: Sequence[RowFormat], _output: RowFormat) -> Kernel:
    raise AssertionError("the core lacks the instruction set")
