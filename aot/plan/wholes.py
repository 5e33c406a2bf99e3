"""Orders of whole stages: the exact optimum for small graphs, a beam above.

Every stage runs once, all its firings at once, and a tensor lives whole from its first writer to
its last user. What is live then depends only on the set of stages that have run, so the lowest
peak is a shortest path over such sets on which only the worst step counts.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

from aot.plan.model import Kind, PlanRequest

EXACT_SETS = 10_000  # sets of stages visited before the search gives up: enough for all graphs of 13 stages
EXACT_STEPS = 400_000  # a step looks at one stage: of graphs of more than 40 stages fewer sets are visited
BEAM = 24  # sets of equal size kept where it has given up


@dataclass(frozen=True, slots=True)
class WholeOrder:
    stages: tuple[int, ...]
    peak_bytes: int  # of live tensors, states not counted
    is_exact: bool  # no order of whole stages has a lower peak


@dataclass(frozen=True, slots=True)
class _Graph:
    """Sets of stages are bits of an integer."""

    before: tuple[int, ...]  # per stage: what must have run
    tensors: tuple[tuple[int, ...], ...]  # per stage: what it touches
    writers: tuple[int, ...]  # per tensor
    users: tuple[int, ...]  # per tensor: writers and readers
    bytes: tuple[int, ...]
    is_made: tuple[bool, ...]  # it is not there before the run
    is_dropped: tuple[bool, ...]  # nobody wants it after the run


@dataclass(frozen=True, slots=True)
class _Path:
    done: int
    live: int
    peak: int
    last: int = -1  # stage
    parent: _Path | None = None

    @property
    def rank(self) -> tuple[int, int, int]:
        return self.peak, self.live, self.done

    def stages(self) -> tuple[int, ...]:
        found, path = [], self
        while path.parent is not None:
            found.append(path.last)
            path = path.parent
        return tuple(reversed(found))


def order_whole_stages(request: PlanRequest, most_sets: int = EXACT_SETS) -> WholeOrder:
    graph = _graph(request)
    path = _exact(graph, most_sets)
    if path is not None:
        return WholeOrder(path.stages(), path.peak, True)
    path = _beam(graph)
    return WholeOrder(path.stages(), path.peak, False)


def least_whole_peak(request: PlanRequest) -> int:
    """No order of whole stages needs less: what its hungriest stage touches."""
    graph = _graph(request)
    return max((sum(graph.bytes[t] for t in touched) for touched in graph.tensors), default=0)


def _graph(request: PlanRequest) -> _Graph:
    index = {tensor.name: n for n, tensor in enumerate(request.tensors)}
    writers, users, before = [0] * len(index), [0] * len(index), []
    for number, stage in enumerate(request.stages):
        wanted = 0
        for name in stage.reads:
            wanted |= writers[index[name]]
        for name in stage.writes:
            wanted |= users[index[name]]
            writers[index[name]] |= 1 << number
        for name in (*stage.reads, *stage.writes):
            users[index[name]] |= 1 << number
        before.append(wanted & ~(1 << number))
    return _Graph(
        before=tuple(before),
        tensors=tuple(tuple(sorted({index[n] for n in (*s.reads, *s.writes)})) for s in request.stages),
        writers=tuple(writers),
        users=tuple(users),
        bytes=tuple(tensor.bytes for tensor in request.tensors),
        is_made=tuple(tensor.kind in (Kind.INNER, Kind.OUTPUT) for tensor in request.tensors),
        is_dropped=tuple(tensor.kind in (Kind.INNER, Kind.INPUT) for tensor in request.tensors),
    )


def _start(graph: _Graph) -> _Path:
    live = sum(size for size, is_made in zip(graph.bytes, graph.is_made, strict=True) if not is_made)
    return _Path(0, live, live)


def _run(graph: _Graph, path: _Path, stage: int) -> _Path:
    done = path.done | 1 << stage
    born = died = 0
    for tensor in graph.tensors[stage]:
        if graph.is_made[tensor] and not graph.writers[tensor] & path.done:
            born += graph.bytes[tensor]
        if graph.is_dropped[tensor] and not graph.users[tensor] & ~done:
            died += graph.bytes[tensor]
    return _Path(done, path.live + born - died, max(path.peak, path.live + born), stage, path)


def _steps(graph: _Graph, path: _Path) -> Iterator[_Path]:
    """All next steps; only one where it is free: it neither raises the peak nor leaves more behind."""
    found = []
    for stage, before in enumerate(graph.before):
        if path.done >> stage & 1 or before & ~path.done:
            continue
        step = _run(graph, path, stage)
        if step.peak == path.peak and step.live <= path.live:
            yield step
            return
        found.append(step)
    yield from found


def _exact(graph: _Graph, most_sets: int) -> _Path | None:
    everything = (1 << len(graph.before)) - 1
    start = _start(graph)
    queue = [(start.rank, start)]
    seen: set[int] = set()
    queued: dict[int, tuple[int, ...]] = {}
    while queue and len(seen) < min(most_sets, EXACT_STEPS // max(len(graph.before), 1)):
        path = heapq.heappop(queue)[1]
        if path.done == everything:
            return path
        if path.done in seen:
            continue
        seen.add(path.done)
        for step in _steps(graph, path):
            if step.rank < queued.get(step.done, (step.peak + 1,)):
                queued[step.done] = step.rank
                heapq.heappush(queue, (step.rank, step))
    return None


def _beam(graph: _Graph) -> _Path:
    paths = [_start(graph)]
    for _ in graph.before:
        best: dict[int, _Path] = {}
        for step in (step for path in paths for step in _steps(graph, path)):
            if step.done not in best or step.rank < best[step.done].rank:
                best[step.done] = step
        paths = sorted(best.values(), key=lambda path: path.rank)[:BEAM]
    return paths[0]
