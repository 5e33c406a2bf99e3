"""The optimization levels, -O0 to -O3, as a table: how far generated code may differ from the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aot.passes import MEANING, PLACEMENT, REQUIRED, VARIANT
from codegen.option_kinds import OneOfNumbers

DEFAULT = 2

# Without this pass, a sequence of hundreds of steps would be thousands of layers.
_ALWAYS = frozenset({*REQUIRED, "roll-up-recurrences"})


@dataclass(frozen=True, slots=True)
class Level:
    """The properties of a level."""

    summary: str
    has_passes: bool = True  # the graph is rewritten; otherwise each operator of the file is a layer
    has_rows: bool = True  # layers are interleaved row by row; otherwise each runs to its end
    has_schedules: bool = True  # loops are tiled and shared by layers; otherwise unscheduled
    has_instructions: bool = True  # of the core: DSP, Helium, ...; otherwise plain C
    is_exact: bool = False  # a solver improves the plan or proves it optimal
    c_flags: tuple[str, ...] = ()  # replace the goal's flags
    stack_times: int = 1  # factor of the stack of optimized code

    def left_out(self, is_streamed: bool) -> frozenset[str]:
        """Returns the passes that do not run. Streaming an input needs the PLACEMENT passes."""
        if self.has_passes:
            return frozenset()
        tables = (MEANING, VARIANT) if is_streamed else (MEANING, VARIANT, PLACEMENT)
        return frozenset(name for table in tables for name in table) - _ALWAYS


LEVELS: Mapping[int, Level] = {
    0: Level(
        "plain, for a debugger: the model's operators one after the other, unscheduled loops, plain C",
        has_passes=False,
        has_rows=False,
        has_schedules=False,
        has_instructions=False,
        c_flags=("-O0", "-g"),
        stack_times=2,  # variables are in memory; tests compare it with measured stack
    ),
    1: Level("passes, rows and tiles, in plain C: no intrinsics, no assembly", has_instructions=False),
    DEFAULT: Level("the fastest kernels, in the core's instructions"),
    3: Level("as 2, and a solver improves the plan or proves it, which takes longer", is_exact=True),
}


LEVEL = OneOfNumbers({str(number): number for number in LEVELS})
