"""Ways to run a graph: lines of pixels whole or broken into rows, rows as for the goal or as for speed.

Without a budget the way is taken that needs least memory, of those that cost next to nothing, or little where
memory is the goal. A budget takes the fastest that fits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from aot.errors import FitError
from aot.ir.graph import Graph
from aot.passes.rows_of_lines import rows_of_lines
from aot.target import Optimize, Target
from codegen.fits import Fit, Fitted
from codegen.fitting import Known, find_fit, limit_of
from codegen.kernels.knobs import NOT_TUNED, Point
from codegen.model import CompileOptions
from codegen.streaming import as_image, can_be_streamed, streamed_input

# Shares of the time of convolutions that rows of lines may take; the last is any that there are.
_LOSSES = _NOTHING, _NEXT_TO_NOTHING, _LITTLE, _, _, _ALL = 0.0, 0.03, 0.05, 0.1, 0.4, 100.0

Way = tuple[Graph, CompileOptions]


def fit_best(
    graph: Graph, target: Target, options: CompileOptions, tuned: Mapping[str, Point] = NOT_TUNED
) -> tuple[Graph, Fitted]:
    """The graph as it is run, and its plan. Raises FitError of the way that needs least."""
    has_limit = limit_of(target, options) is not None
    found: list[tuple[Graph, Fit]] = []
    failed: list[FitError] = []
    known = Known()
    for way, its_options in _ways(graph, options, has_limit):
        try:
            fit = find_fit(way, target, its_options, tuned, Known() if has_limit else known)
        except FitError as error:
            failed.append(error)
            continue
        if fit is not None:
            found.append((way, fit))
        if found and has_limit:
            break
    if not found:
        raise failed[-1]
    best, its = min(found, key=lambda each: each[1].plan.arena_bytes)
    return best, its.checked()


def _ways(graph: Graph, options: CompileOptions, has_limit: bool) -> Iterator[Way]:
    """Fastest first where there is a limit; without one, what serves the goal best of equals."""
    least = _LITTLE if options.optimize is Optimize.RAM else _NEXT_TO_NOTHING
    losses = [loss for loss in _LOSSES if has_limit or loss <= least] if options.rows else [_NOTHING]
    graphs = list(_streamed(graph, losses) if options.stream else _graphs(graph, losses))
    yield from ((each, options) for each in graphs)
    if options.optimize is Optimize.RAM and not has_limit:
        yield from ((each, replace(options, optimize=Optimize.SPEED)) for each in graphs)


def _graphs(graph: Graph, losses: Sequence[float], is_pushed: bool = False) -> Iterator[Graph]:
    """With lines broken into rows at these costs; one that is no other than one before is left out."""
    before: list[Graph] = []
    for loss in losses:
        way = rows_of_lines(graph, loss, is_pushed)
        if not any(way.nodes == other.nodes for other in before):
            before.append(way)
            yield way


def _streamed(graph: Graph, losses: Sequence[float]) -> Sequence[Graph]:
    """Those whose input can come row by row; at any cost if there is no other. Raises ModelError."""
    images = [as_image(way) for way in _graphs(graph, losses, is_pushed=True)]
    fitting = [image for image in images if can_be_streamed(image)]
    rows = as_image(rows_of_lines(graph, _LOSSES[-1], is_pushed=True))
    if not fitting:
        streamed_input(rows)
    return fitting or [rows]
