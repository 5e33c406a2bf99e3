"""The part that an instruction set adds to the compiler, where a core has it."""

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
    """One line of the table; everything but its name and needs may be left out."""

    name: str
    needs: frozenset[Feature]
    schedules: Mapping[str, tuple[Schedule, ...]] = field(default_factory=dict)  # by op, best first
    math: Callable[[ScalarMath], ScalarMath] | None = None  # puts its functions in place of others
    rewrite: Callable[[Kernel], Kernel] | None = None  # of every kernel, after its own schedule
    headers: tuple[str, ...] = ()  # of the compiler, which its code includes: no model's header is called so
    lanes: Lanes | None = None  # its instructions that compute elements side by side
    is_standard_c: bool = False  # no intrinsic, attribute or assembly: any compiler takes its code
    saved_bytes: int = 0  # of stack, for registers that functions save which use its instructions

    def is_on(self, target: Target) -> bool:
        return self.needs <= target.features

    @property
    def unavailable(self) -> Schedule:
        """Stands for its schedules on a core that lacks its needs, and says that the core does."""
        return Schedule(self.name, _refuse_site, _refuse_rows, self.needs)


def _refuse_site(_site: Site) -> RowRequests:
    raise AssertionError("the core lacks the instruction set")


def _refuse_rows(_site: Site, _inputs: Sequence[RowFormat], _output: RowFormat) -> Kernel:
    raise AssertionError("the core lacks the instruction set")
