"""Orders whole stages: exact for small graphs, beam search for larger ones.

Every stage runs once, with all its steps, and a tensor is live as a whole from its first writer to its last
reader. The live bytes then depend only on the set of stages that have run. So the lowest peak is a shortest
path over such sets, with the largest value as its length.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf

from aot.ir.graph import Graph
from aot.plan.model import Kind, PlanRequest, PlanTensor, Rows, Stage, Step

EXACT_SETS = 10_000  # most sets of finished stages for the exact search: covers every graph of 13 stages
EXACT_LOOKS = 400_000  # most (set, stage) pairs for the exact search; limits graphs of more than 40 stages
MOST_LOOKS = 150_000  # most pairs actually visited; limits graphs in which very many stages may be next
BOUND_LOOKS = 250  # most (set, stage) pairs per stage if only a bound is wanted
MOST_BOUND_LOOKS = 20_000  # most (set, stage) pairs in total if only a bound is wanted
BEAM = 24  # sets of equal size kept after the exact search has given up
BEAM_LOOKS = 100_000  # most (set, stage) pairs for the beam; after that, stages stay in the given order


@dataclass(frozen=True, slots=True)
class WholeOrder:
    stages: tuple[int, ...]
    peak_bytes: int  # peak of live tensors, without states
    is_exact: bool  # no order of whole stages has a lower peak


@dataclass(frozen=True, slots=True)
class _Graph:
    """A dependency graph. Sets of stages are bit masks."""

    before: tuple[int, ...]  # by stage: mask of stages that must run first
    behind: tuple[tuple[int, ...], ...]  # by stage: stages that wait for it
    tensors: tuple[tuple[int, ...], ...]  # by stage: tensors it accesses
    writers: tuple[int, ...]  # by tensor
    users: tuple[int, ...]  # by tensor: writers and readers
    bytes: tuple[int, ...]
    is_made: tuple[bool, ...]  # by tensor: becomes live during the run
    is_dropped: tuple[bool, ...]  # by tensor: dies during the run


@dataclass(frozen=True, slots=True)
class _Path:
    done: int
    ready: int  # mask of stages that may run next
    live: int
    peak: int
    last: int = -1  # the stage that ran last
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
    count = len(graph.before)
    most_sets = min(most_sets, EXACT_LOOKS // max(count, 1))
    if most_sets >= count:  # every path has one set per stage: with fewer sets no search can finish
        path, is_exact = _search(graph, most_sets, MOST_LOOKS)
        if is_exact:
            return WholeOrder(path.stages(), path.peak, True)
    path = _beam(graph)
    return WholeOrder(path.stages(), path.peak, False)


def peak_lower_bound(request: PlanRequest) -> int:
    """Returns a lower bound of the peak bytes of any order of whole stages; exact if the search finishes.

    If the search stops early, every order must still pass one of the reached sets, so the lowest peak among
    these is a bound. So is the largest sum of tensors that one stage touches.
    """
    graph = _graph(request)
    path, _ = _search(graph, EXACT_SETS, min(BOUND_LOOKS * len(graph.before), MOST_BOUND_LOOKS))
    return max((path.peak, *(sum(graph.bytes[t] for t in touched) for touched in graph.tensors)))


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
    behind: list[list[int]] = [[] for _ in before]
    for number, wanted in enumerate(before):
        for other in _members(wanted):
            behind[other].append(number)
    return _Graph(
        before=tuple(before),
        behind=tuple(map(tuple, behind)),
        tensors=tuple(tuple(sorted({index[n] for n in (*s.reads, *s.writes)})) for s in request.stages),
        writers=tuple(writers),
        users=tuple(users),
        bytes=tuple(tensor.bytes for tensor in request.tensors),
        is_made=tuple(tensor.kind in (Kind.INNER, Kind.OUTPUT) for tensor in request.tensors),
        is_dropped=tuple(tensor.kind in (Kind.INNER, Kind.INPUT) for tensor in request.tensors),
    )


def _start(graph: _Graph) -> _Path:
    live = sum(size for size, is_made in zip(graph.bytes, graph.is_made, strict=True) if not is_made)
    ready = sum(1 << stage for stage, before in enumerate(graph.before) if not before)
    return _Path(0, ready, live, live)


def _run(graph: _Graph, path: _Path, stage: int) -> _Path:
    done = path.done | 1 << stage
    born = died = 0
    for tensor in graph.tensors[stage]:
        if graph.is_made[tensor] and not graph.writers[tensor] & path.done:
            born += graph.bytes[tensor]
        if graph.is_dropped[tensor] and not graph.users[tensor] & ~done:
            died += graph.bytes[tensor]
    ready = path.ready & ~(1 << stage)
    for other in graph.behind[stage]:
        if not graph.before[other] & ~done:
            ready |= 1 << other
    return _Path(done, ready, path.live + born - died, max(path.peak, path.live + born), stage, path)


def _members(stages: int) -> Iterator[int]:
    """Yields the numbers in a set, in order."""
    while stages:
        lowest = stages & -stages
        yield lowest.bit_length() - 1
        stages ^= lowest


def _longer_by_one(graph: _Graph, path: _Path) -> Iterator[_Path]:
    """Yields all paths with one more stage; only one if it is free: same peak, nothing more left live."""
    found = []
    for stage in _members(path.ready):
        longer = _run(graph, path, stage)
        if longer.peak == path.peak and longer.live <= path.live:
            yield longer
            return
        found.append(longer)
    yield from found


def _search(graph: _Graph, most_sets: int, most_looks: float = inf) -> tuple[_Path, bool]:
    """Returns the path with the lowest peak, and whether it is complete; stops when the work is used up."""
    everything = (1 << len(graph.before)) - 1
    start = _start(graph)
    queue = [(start.rank, start)]
    seen: set[int] = set()
    queued: dict[int, tuple[int, ...]] = {}
    looks = 0
    while True:
        path = heapq.heappop(queue)[1]
        if path.done == everything or len(seen) >= most_sets or looks >= most_looks:
            return path, path.done == everything
        if path.done in seen:
            continue
        seen.add(path.done)
        looks += path.ready.bit_count()
        for longer in _longer_by_one(graph, path):
            if longer.rank < queued.get(longer.done, (longer.peak + 1,)):
                queued[longer.done] = longer.rank
                heapq.heappush(queue, (longer.rank, longer))


def _beam(graph: _Graph) -> _Path:
    paths, looks = [_start(graph)], 0
    for _ in graph.before:
        best: dict[int, _Path] = {}
        looks += sum(path.ready.bit_count() for path in paths)
        if looks > BEAM_LOOKS:
            return _in_given_order(graph, paths[0])
        for longer in (longer for path in paths for longer in _longer_by_one(graph, path)):
            if longer.done not in best or longer.rank < best[longer.done].rank:
                best[longer.done] = longer
        paths = sorted(best.values(), key=lambda path: path.rank)[:BEAM]
    return paths[0]


def _in_given_order(graph: _Graph, path: _Path) -> _Path:
    """Completes the path, always with the first stage that is ready."""
    while path.ready:
        path = _run(graph, path, next(_members(path.ready)))
    return path


_VIEW = "reshape"  # its output shares its input's memory
_ONCE = Rows(0, 1)


def whole_tensor_bound(graph: Graph, caller_owns_io: bool = False) -> int:
    """Returns a lower bound of live bytes over all orders of nodes; dense tensors, no padding, no copies.

    With `caller_owns_io`, inputs and outputs do not count. The search is short compared to a compile, so for
    a graph with many branches the true minimum may be higher.
    """
    request = _whole_request(graph)
    if caller_owns_io:
        request = replace(request, tensors=tuple(map(_beside, request.tensors)))
    return peak_lower_bound(request)


def _beside(tensor: PlanTensor) -> PlanTensor:
    return replace(tensor, row_bytes=0) if tensor.kind in (Kind.INPUT, Kind.OUTPUT) else tensor


def _whole_request(graph: Graph) -> PlanRequest:
    roots: dict[str, str] = {}
    constants = set(graph.constants)  # and values computed from constants only
    stages = []
    for node in graph.nodes:
        reads = tuple(dict.fromkeys(roots.get(v, v) for v in node.reads if v not in constants))
        if not reads:
            constants.update(node.outputs)
            continue
        if node.op.name == _VIEW:
            roots[node.outputs[0]] = reads[0]
            continue
        step = Step((_ONCE,) * len(reads), (_ONCE,) * len(node.outputs))
        stages.append(Stage(node.name, reads, node.outputs, (step,)))
    outputs = {roots.get(v, v) for v in graph.outputs}
    states = {state.name for state in graph.states}
    made = [v for stage in stages for v in stage.writes]
    tensors = [
        PlanTensor(v, 1, graph.types[v].bytes, Kind.STATE if v in states else Kind.INPUT, align=1)
        for v in graph.given
    ]
    tensors += [
        PlanTensor(v, 1, graph.types[v].bytes, Kind.OUTPUT if v in outputs else Kind.INNER, align=1)
        for v in made
    ]
    return PlanRequest(tuple(tensors), tuple(stages), rows=False)
