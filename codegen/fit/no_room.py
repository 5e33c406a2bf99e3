"""A variant needs more memory than it may have: known cheaply; a least plan is made for the message alone."""

from __future__ import annotations

from collections.abc import Callable

from aot.errors import FitError
from codegen.fit.variant import MORE_ROOM, PlannedVariant

_SHOWN = 3  # buffers at the peak that the error names


class NoRoomError(Exception):
    """No plan of a variant keeps to the limit. The least one is made where the error is shown."""

    def __init__(self, limit: int, least: Callable[[], PlannedVariant]) -> None:
        super().__init__(limit)
        self.limit = limit
        self.least = least

    def fit_error(self) -> FitError:
        """The error: what is missing, where, and the way out."""
        least, limit = self.least(), self.limit
        plan, lowered, graph = least.plan, least.variant.lowered, least.variant.graph
        stage = lowered.stages[plan.order[plan.peak_step]]
        origin = stage.node.origin if stage.node is not None else ""
        live = ", ".join(f"{name} {plan.buffers[name].bytes:,}" for name in plan.peak_buffers[:_SHOWN])
        is_users = least.variant.options.ram_bytes == limit
        inputs = sum(graph.types[value].bytes for value in graph.inputs)
        return FitError(
            f"the arena needs {plan.arena_bytes:,} bytes at least, {plan.arena_bytes - limit:,} more than "
            + (f"--ram {limit} allows" if is_users else f"the {limit:,} of --pool"),
            f"most is live at {stage.op} {origin}".rstrip() + f": {live} bytes",
            (f"--ram {plan.arena_bytes} is enough\n" if is_users else f"{MORE_ROOM}\n")
            + f"inputs take {inputs:,} of it; deploy inspect MODEL --memory shows the rest",
        )
