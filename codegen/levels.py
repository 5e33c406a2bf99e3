"""The order of levels, -O0 to -O3: how far generated code may go from the model, as a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aot.passes import MEANING, PLACEMENT, REQUIRED, VARIANT
from codegen.option_kinds import OneOfNumbers

DEFAULT = 2

# Without it a sequence of hundreds of steps is thousands of layers, which nobody steps through.
_ALWAYS = frozenset({*REQUIRED, "roll-up-recurrences"})


@dataclass(frozen=True, slots=True)
class Level:
    """All that a level decides."""

    says: str
    has_passes: bool = True  # the graph is rewritten; else each operator of the file is a layer
    has_rows: bool = True  # layers take turns, row by row; else each is done before the next begins
    has_schedules: bool = True  # loops are tiled, and shared by layers; else they are as they are meant
    has_instructions: bool = True  # of the core: DSP, Helium, ...; else plain C
    is_exact: bool = False  # a solver improves the plan, or proves it
    c_flags: tuple[str, ...] = ()  # in place of those of the goal
    stack_times: int = 1  # of what optimized code takes

    def left_out(self, is_streamed: bool) -> frozenset[str]:
        """The passes that do not run. Without those of PLACEMENT an input cannot be streamed."""
        if self.has_passes:
            return frozenset()
        tables = (MEANING, VARIANT) if is_streamed else (MEANING, VARIANT, PLACEMENT)
        return frozenset(name for table in tables for name in table) - _ALWAYS


LEVELS: Mapping[int, Level] = {
    0: Level(
        "plain, for a debugger: the model's operators one after the other, loops as they are meant, plain C",
        has_passes=False,
        has_rows=False,
        has_schedules=False,
        has_instructions=False,
        c_flags=("-O0", "-g"),
        stack_times=2,  # each variable is in memory; tests hold it above what runs paint over
    ),
    1: Level("passes, rows and tiles, in plain C: no intrinsics, no assembly", has_instructions=False),
    DEFAULT: Level("all that is fast, in the core's instructions"),
    3: Level("as 2, and a solver improves the plan or proves it, which takes longer", is_exact=True),
}


LEVEL = OneOfNumbers({str(number): number for number in LEVELS})
