"""Caches get the new rows written into them, or shifted in, instead of being computed anew.

Exporters compute the next value of a cache as a whole: a selection by a mask of positions, or rows joined to
the old ones, of which the first are dropped. Lowering updates a state in its own memory if only rows change.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from aot.ir.graph import Graph, Node, State
from aot.ir.types import Array, DType, TensorType, dense_strides
from aot.ops.compare import Compare, Relation
from aot.ops.concat import Concat
from aot.ops.op import Op
from aot.ops.rearrange import Rearrange
from aot.ops.reshape import Reshape
from aot.ops.select import Select
from aot.ops.write_rows import ShiftRows, WriteRows
from aot.passes.outcome import Miss, Outcome, outcome
from aot.passes.rewrite import without_dead_code
from aot.passes.values import behind_views, fresh_name, origins


def write_states_in_place(graph: Graph) -> Outcome:
    """Rewrites each state whose next value is one of these forms; windows that slide plan their own rows."""
    made, left = graph, dict[str, str]()
    for state in graph.states[0 if graph.window is None else graph.window.states :]:
        maker = made.producers.get(behind_views(state.next, made))
        changed = None if maker is None else _changed(made, state, maker)
        if isinstance(changed, Graph):
            made = changed
        elif changed is not None and maker is not None:
            left[maker.name] = changed.because
    return outcome(graph, graph if made is graph else without_dead_code(made), left, "no state is a cache")


def _changed(graph: Graph, state: State, maker: Node) -> Graph | Miss | None:
    if isinstance(maker.op, Select):
        return _masked(graph, state, maker)
    found = next((each for each in _joins(graph, state)), None)
    return None if found is None else _shifted(graph, state, found)


# ---- a mask of positions ----


def _masked(graph: Graph, state: State, node: Node) -> Graph | Miss | None:
    """Returns the graph that writes rows where a mask selects them: positions equal to a computed one."""
    mask, *values = node.reads
    compare = graph.producers.get(behind_views(mask, graph))
    if compare is None or not isinstance(compare.op, Compare):
        return None
    if compare.op.relation is Relation.NOT_EQUAL:
        values.reverse()
    elif compare.op.relation is not Relation.EQUAL:
        return None
    rows, old = values
    if behind_views(old, graph) != state.name:
        return None
    kind = graph.types[node.outputs[0]]
    axis = _counted_axis(graph, mask, compare, kind.rank)
    place = next((value for value in compare.reads if value not in graph.constants), "")
    if axis is None or not place or graph.types[place].elements != 1:
        return Miss("writes a cache, but not where a position equals a computed one")
    if graph.types[place].dtype not in (DType.I32, DType.I64):
        return Miss(f"writes a cache at a position that is {graph.types[place].dtype.value}, not i32 or i64")
    if graph.types[rows].shape != _with_rows(kind.shape, axis, 1) or graph.types[old].shape != kind.shape:
        return Miss("writes a cache, but not one row of it")
    written = replace(node, op=WriteRows(axis, by_index=False), inputs=(old, rows, place))
    return graph.with_nodes(written if each is node else each for each in graph.nodes)


def _counted_axis(graph: Graph, mask: str, compare: Node, rank: int) -> int | None:
    """Returns the dimension whose positions 0, 1, ... the mask's constant counts."""
    constants = [graph.constants[value] for value in compare.reads if value in graph.constants]
    sizes = (1,) * (rank - graph.types[mask].rank) + graph.types[mask].shape
    long = [axis for axis, size in enumerate(sizes) if size > 1]
    if len(constants) != 1 or len(long) != 1:
        return None
    counts = np.array_equal(constants[0].reshape(-1), np.arange(sizes[long[0]]))
    return long[0] if counts else None


# ---- rows that are joined, of which the first are dropped ----


@dataclass(frozen=True)
class _Join:
    """A cache of consecutive rows: `value` is to be the old rows, without the first, and the new ones."""

    value: str
    rows: str
    axis: int
    dropped: int  # rows of the value that the state lacks before its first one


def _joins(graph: Graph, state: State) -> Iterator[_Join]:
    """Yields the way in which the state's next value is shifted, if it is."""
    kind = graph.types[state.name]
    for value, places in origins(graph, state.next):
        node = graph.producers.get(value)
        if node is None or not isinstance(node.op, Concat) or len(node.reads) != 2:
            continue
        (old, rows), axis, joined = node.reads, node.op.axis, graph.types[value].shape
        count, size = graph.types[rows].shape[axis], joined[axis]
        if joined == kind.shape and value == state.next and _shows(graph, old, state.name, axis, count, kind):
            yield _Join(value, rows, axis, 0)
        kept = np.arange(graph.types[value].elements).reshape(joined).take(range(count, size), axis)
        follows = behind_views(old, graph) == state.name and graph.types[old].shape == kind.shape
        if follows and np.array_equal(kept.reshape(-1), places):
            is_alone = all(reader is _first_step(graph, state, value) for reader in graph.readers[value])
            alone = is_alone and value not in graph.kept
            yield _Join(state.next, rows, axis, 0) if alone else _Join(value, rows, axis, count)


def _shows(graph: Graph, value: str, state: str, axis: int, first: int, kind: TensorType) -> bool:
    """Returns whether the value is the state without its first rows."""
    wanted = np.arange(kind.elements).reshape(kind.shape).take(range(first, kind.shape[axis]), axis)
    return any(n == state and np.array_equal(p, wanted.reshape(-1)) for n, p in origins(graph, value))


def _first_step(graph: Graph, state: State, value: str) -> Node | None:
    """Returns the node by which the state's next value reads that value."""
    step, node = None, graph.producers.get(state.next)
    while node is not None and step != value:
        step, found = node.reads[0], node
        node = graph.producers.get(step)
    return found if step == value else None


def _shifted(graph: Graph, state: State, join: _Join) -> Graph | Miss:
    if join.dropped and (len(graph.readers[state.name]) != 1 or state.name in graph.kept):
        return Miss("joins rows to a state that others read, too")
    if join.dropped and 2 * join.dropped > graph.types[join.value].shape[join.axis]:
        return Miss("joins more new rows to a state than it keeps")
    kind, maker = graph.types[join.value], graph.producers[join.value]
    initial = _longer(state.initial, join, kind)
    if not _is_read_by_rows(graph, join, kind):
        shifted = replace(maker, op=ShiftRows(join.axis), inputs=(state.name, join.rows))
        nodes = [shifted if each is maker else each for each in graph.nodes]
        return _with_state(graph, replace(state, next=join.value, initial=initial), kind, nodes, {})
    by_rows = replace(kind, shape=_moved(kind.shape, join.axis))
    part = replace(by_rows, shape=(graph.types[join.rows].shape[join.axis], *by_rows.shape[1:]))
    taken = [graph.types, {node.name: node for node in graph.nodes}]
    rows, value = (fresh_name(f"{join.value}/{what}", *taken) for what in ("rows", "by rows"))
    order = [join.axis, *(a for a in range(kind.rank) if a != join.axis)]
    steps = (
        Node(rows, _by_axes(graph.types[join.rows].shape, order), (join.rows,), (rows,), maker.origin),
        Node(value, ShiftRows(0), (state.name, rows), (value,), maker.origin),
        replace(maker, op=_by_axes(by_rows.shape, np.argsort(order).tolist()), inputs=(value,)),
    )
    nodes = [step for each in graph.nodes for step in (steps if each is maker else (each,))]
    kept = replace(state, next=value, initial=np.ascontiguousarray(initial.transpose(order)))
    return _with_state(graph, kept, by_rows, nodes, {rows: part, value: by_rows})


def _is_read_by_rows(graph: Graph, join: _Join, kind: TensorType) -> bool:
    """Returns whether all readers move the axis to the front first: then the state keeps it there."""
    counted = np.arange(kind.elements).reshape(kind.shape)
    wanted = np.moveaxis(counted, join.axis, 0).reshape(-1)
    if join.axis == 0 or np.array_equal(wanted, counted.reshape(-1)):
        return False
    readers = [node for node in _readers_of_views(graph, join.value) if not _is_kept_part(graph, node)]
    moves = [node for node in readers if isinstance(node.op, Rearrange)]
    return (
        bool(readers)
        and len(moves) == len(readers)
        and all(
            np.array_equal(node.op.loops.indices(), wanted)
            for node in moves
            if isinstance(node.op, Rearrange)
        )
    )


def _is_kept_part(graph: Graph, node: Node) -> bool:
    """Returns whether the node only computes a state's next value, as the old form of a cache does."""
    (made,) = node.outputs
    views = {made, *(v for reader in graph.readers[made] for v in reader.outputs)}
    return bool(views & {state.next for state in graph.states})


def _readers_of_views(graph: Graph, value: str) -> Iterator[Node]:
    for node in graph.readers[value]:
        if behind_views(node.outputs[0], graph) == behind_views(value, graph):
            yield from _readers_of_views(graph, node.outputs[0])
        else:
            yield node


def _longer(initial: Array, join: _Join, kind: TensorType) -> Array:
    """Returns the state's first value with rows before it, which the first run drops."""
    zero = 0 if kind.quant is None else kind.quant.zero_point
    before = np.full(_with_rows(kind.shape, join.axis, join.dropped), zero, initial.dtype)
    return np.concatenate([before, initial.reshape(_rest(kind.shape, join))], join.axis)


def _rest(shape: tuple[int, ...], join: _Join) -> tuple[int, ...]:
    return _with_rows(shape, join.axis, shape[join.axis] - join.dropped)


def _with_rows(shape: tuple[int, ...], axis: int, count: int) -> tuple[int, ...]:
    return (*shape[:axis], count, *shape[axis + 1 :])


def _moved(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (shape[axis], *shape[:axis], *shape[axis + 1 :])


def _by_axes(shape: tuple[int, ...], order: list[int]) -> Op:
    """Returns the transposition, or a reshape if only axes of size 1 move."""
    sizes, strides = tuple(shape[a] for a in order), dense_strides(shape)
    moved = Rearrange(sizes, sizes, tuple(strides[a] for a in order))
    return Reshape(sizes) if moved.loops.is_identity else moved


def _with_state(
    graph: Graph, state: State, kind: TensorType, nodes: list[Node], types: dict[str, TensorType]
) -> Graph:
    """Returns the graph with that state, of that type, in place of the one of its name."""
    states = tuple(state if each.name == state.name else each for each in graph.states)
    return replace(graph, states=states, types={**graph.types, state.name: kind}).with_nodes(nodes, types)
