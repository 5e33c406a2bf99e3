"""Turns a model over a window that slides by some rows into a model of one hop, with the same results.

The model of a hop takes the new rows. States keep the older rows that are still read: those next to the new
ones, and those that become the first rows of later windows. So each layer computes its newest rows, and its
rows at padded ends. What follows a layer that does not slide is computed whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import gcd, lcm, prod

import numpy as np

from aot.errors import ModelError
from aot.ir.graph import Graph, Node, State, Window
from aot.ir.types import TensorType
from aot.ir.verify import verify
from aot.ops.average_pool2d import AveragePool2d
from aot.ops.concat import Concat
from aot.ops.max_pool2d import MaxPool2d
from aot.ops.rearrange import Rearrange
from aot.ops.reshape import Reshape
from aot.ops.spatial import NO_PADDING, Pair
from aot.passes.outcome import Rewritten
from aot.passes.rewrite import without_dead_code
from aot.passes.sliding.shifts import Slides, of_rows, slides_along, with_rows
from aot.passes.values import behind_views, fresh_name, without_input_views
from aot.wording import counted

# Removes views that hide the rows of a window: of inputs that are vectors, and around transpositions.


def with_visible_rows(graph: Graph) -> Graph:
    """Returns the graph with rows as an axis of the input and of rearranged values, if they have rows."""
    for node in graph.nodes:
        if isinstance(node.op, Rearrange) and node.op.sizes != node.op.shape:
            graph = _in_last_shape(node, node.op, graph)
    graph = without_input_views(without_dead_code(graph))
    while (seen := _view_first(graph)) is not graph:
        graph = without_input_views(seen)
    return graph


def _in_last_shape(node: Node, op: Rearrange, graph: Graph) -> Graph:
    """Rearranges to the shape that readers use, if each of its axes is one of the loops."""
    views, last = _views_after(node.outputs[0], graph)
    kind, loops = graph.types[last], [each for each in zip(op.sizes, op.strides, strict=True) if each[0] > 1]
    if [size for size in kind.shape if size > 1] != [size for size, _ in loops]:
        return graph
    rest = iter(stride for _, stride in loops)
    strides = tuple(next(rest) if size > 1 else 0 for size in kind.shape)
    made = Rearrange(kind.shape, kind.shape, strides, op.offset)
    source = behind_views(node.reads[0], graph)
    whole = replace(node, op=made, inputs=(source,), outputs=(last,))
    return graph.with_nodes(whole if n is node else n for n in graph.nodes if n not in views)


def _views_after(value: str, graph: Graph) -> tuple[list[Node], str]:
    """Returns the reshapes that alone read the value, one after the other, and the last one's result."""
    views: list[Node] = []
    while value not in graph.kept and len(readers := graph.readers[value]) == 1:
        if not isinstance(readers[0].op, Reshape):
            break
        views.append(readers[0])
        value = readers[0].outputs[0]
    return views, value


def _view_first(graph: Graph) -> Graph:
    """Moves a view before an elementwise node that alone reads the input."""
    for value in graph.inputs[:1]:
        readers = graph.readers[value]
        if len(readers) != 1 or readers[0].op.elementwise != (0,) or value in graph.kept:
            continue
        node = readers[0]
        views, last = _views_after(node.outputs[0], graph)
        if views:
            types = {value: replace(graph.types[value], shape=graph.types[last].shape)}
            whole = replace(node, outputs=(last,))
            nodes = [whole if n is node else n for n in graph.nodes if n not in views]
            return graph.with_nodes(nodes, types=types)
    return graph


OPTION = "--slide"


def slide(graph: Graph, hop: int) -> Rewritten:
    """Returns the model of one hop, and why nodes are computed for the whole window.

    `graph` is after the passes that serve every target. Raises ModelError if the window cannot slide, or not
    by this hop.
    """
    graph = with_visible_rows(graph)
    reasons: dict[str, str] = {}
    for axis in _possible_axes(graph):
        slides = slides_along(graph, axis)
        if any(_macs(graph, value) for value in slides.shifts):
            _require_hop(graph, slides, axis, hop)
            graph = _with_wide_rows(graph, slides, hop)
            slides = slides_along(graph, axis)
            made, rows = _Step(graph, slides, hop).run(), graph.types[graph.inputs[0]].shape[axis]
            window = Window(rows, hop, _all_macs(graph), len(made.states))
            made = replace(made, window=window)
            verify(made)
            if _all_macs(made) < window.macs:
                return Rewritten(made, slides.whole)
            reasons = dict.fromkeys(slides.reaches, "its rows are new, or depend on an end of the window")
            break
        reasons = reasons or dict(slides.whole)
    nodes = {node.name: node.origin or f'"{node.name}"' for node in graph.nodes}
    raise ModelError(
        f"{OPTION} {hop} saves nothing: no layer with weights can keep results of the last window",
        "\n".join(f"{nodes[node]}: {why}" for node, why in [*reasons.items()][:3])
        or f'no layer reads the rows of "{graph.inputs[0]}"',
        f"without {OPTION} each run computes the whole window",
    )


def _with_wide_rows(graph: Graph, slides: Slides, hop: int) -> Graph:
    """Lets pools over all rows of one pixel read several new rows as one: each row costs a call."""
    nodes, types = list[Node](), dict(graph.types)
    for node in graph.nodes:
        op, x = node.op, node.reads[0]
        kind, shift = graph.types[x], slides.shifts.get(x)
        if isinstance(op, AveragePool2d | MaxPool2d) and shift is not None and node.name in slides.whole:
            width = gcd(shift.rows, shift.first, shift.stop, hop // shift.stride)
            is_line = op.size == kind.shape[1:3] and prod(op.size) == shift.rows and op.padding == NO_PADDING
            if width > 1 and is_line:
                view, size = fresh_name(f"{x}/wide", types), (shift.rows // width, width)
                types[view] = replace(kind, shape=(1, *size, kind.shape[3]))
                nodes.append(Node(view, Reshape(types[view].shape), (x,), (view,), node.origin))
                node = replace(node, op=replace(op, size=size, stride=size), inputs=(view,))
        nodes.append(node)
    return graph.with_nodes(nodes, types=types)


def _all_macs(graph: Graph) -> int:
    """Returns the multiply-accumulate operations of a run."""
    return sum(_macs(graph, node.outputs[0]) for node in graph.nodes)


def _macs(graph: Graph, value: str) -> int:
    node = graph.producers.get(value)
    return node.op.cost(graph.input_types(node), graph.output_types(node)).macs if node is not None else 0


def _possible_axes(graph: Graph) -> Sequence[int]:
    if len(graph.inputs) != 1:
        raise ModelError(
            f"a model with {len(graph.inputs)} inputs has no window that slides",
            "inputs: " + ", ".join(graph.inputs),
            f"{OPTION} is for models with one input",
        )
    if graph.states:
        raise ModelError(
            "the window cannot slide: the model keeps a state from run to run",
            "states: " + ", ".join(f'"{state.name}"' for state in graph.states),
            f"without {OPTION}: such a model already takes only new rows",
        )
    shape = graph.types[graph.inputs[0]].shape
    return [axis for axis, size in enumerate(shape) if size > 1]


def _require_hop(graph: Graph, slides: Slides, axis: int, hop: int) -> None:
    (value,) = graph.inputs
    rows = graph.types[value].shape[axis]
    unit = lcm(*(shift.stride for shift in slides.shifts.values()))
    if 0 < hop < rows and hop % unit == 0:
        return
    possible_hops = range(unit, rows, unit)
    least = min((abs(each - hop) for each in possible_hops), default=0)
    near = [each for each in possible_hops if abs(each - hop) == least]
    possible = " or ".join(f"{OPTION} {each}" for each in near)
    most = (rows - 1) // unit * unit
    limit = f"1 to {most}" if unit == 1 else f"multiples of {unit} from {unit} to {most}"
    strides = "" if unit == 1 else f", and its strides together are {unit}"
    raise ModelError(
        f"{OPTION} {hop}: the window cannot slide by {counted(hop, 'row')}; possible: {limit}",
        f'the window "{value}" has {rows} rows{strides}',
        f"nearest: {possible}" if near else f"without {OPTION}: the strides leave no smaller hop",
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """Rows of a value in the current window, and the value of the new model that has them."""

    first: int
    stop: int
    value: str = ""
    row: int = 0  # the row of `value` that is `first`


@dataclass(slots=True)
class _Rows:
    """The rows of a value that are needed: those computed in each hop, and those kept from earlier hops."""

    computed: list[_Part]
    kept: _Part | None = None

    @property
    def parts(self) -> list[_Part]:
        kept = [self.kept] if self.kept is not None else []
        return sorted([*self.computed, *kept], key=lambda part: part.first)


class _Step:
    """The state of the rewriting; call run() once."""

    def __init__(self, graph: Graph, slides: Slides, hop: int) -> None:
        self.graph, self.slides, self.hop = graph, slides, hop
        self.types = dict(graph.types)
        self.nodes: list[Node] = []
        self.names = {node.name for node in graph.nodes}
        self.rows = self._needed()
        self.cut: dict[tuple[str, int, int], str] = {}

    def run(self) -> Graph:
        (value,) = self.graph.inputs
        self._set_type(value, self.hop)
        for node in self.graph.nodes:
            if node.name not in self.slides.reaches:
                inputs = tuple(v and self._whole(v) for v in node.inputs)
                self.nodes.append(replace(node, inputs=inputs))
            elif node.outputs[0] in self.rows:
                self._compute(node)
        outputs = tuple(self._whole(v) for v in self.graph.outputs)
        states = tuple(self._states())
        made = replace(self.graph, types=self.types, states=states, nodes=tuple(self.nodes))
        return made.with_nodes(self.nodes, types=self.types, outputs=outputs)

    # ---- which rows are needed

    def _needed(self) -> dict[str, _Rows]:
        """Returns the needed rows of each value that slides, results before operands."""
        reads: dict[str, list[Pair]] = {value: [] for value in self.slides.shifts}
        for value in self.graph.outputs:
            self._read_whole(value, reads)
        found: dict[str, _Rows] = {}
        for node in reversed(self.graph.nodes):
            reach = self.slides.reaches.get(node.name)
            if reach is None:
                for value in node.reads:
                    self._read_whole(value, reads)
            elif reads[node.outputs[0]]:
                found[node.outputs[0]] = self._rows_of(node.outputs[0], reads[node.outputs[0]])
                for part in found[node.outputs[0]].computed:
                    for value in node.reads:
                        if value in reads:
                            reads[value].append(self._inside(value, reach.reads(part.first, part.stop)))
        (value,) = self.graph.inputs
        shift = self.slides.shifts[value]
        found[value] = self._rows_of(value, [*reads[value], (shift.rows - self.hop, shift.rows)])
        return found

    def _read_whole(self, value: str, reads: Mapping[str, list[Pair]]) -> None:
        if value in reads:
            reads[value].append((0, self.slides.shifts[value].rows))

    def _inside(self, value: str, rows: Pair) -> Pair:
        return max(0, rows[0]), min(self.slides.shifts[value].rows, rows[1])

    def _rows_of(self, value: str, reads: Iterable[Pair]) -> _Rows:
        shift = self.slides.shifts[value]
        newest, ranges = shift.newest(self.hop), list(reads)
        starts = [max(a, shift.first) for a, b in ranges if max(a, shift.first) < min(b, newest)]
        kept = _Part(min(starts), newest) if starts else None
        computed = []
        edge = [(a, min(b, shift.first)) for a, b in ranges if a < shift.first]
        if edge:
            computed.append(_Part(min(a for a, _ in edge), max(b for _, b in edge)))
        new = [(max(a, newest), b) for a, b in ranges if b > newest]
        new += [(newest, shift.stop)] if kept else []
        if new:
            computed.append(_Part(min(a for a, _ in new), max(b for _, b in new)))
        if kept is None and len(computed) == 2 and computed[0].stop == computed[1].first:
            computed = [_Part(computed[0].first, computed[1].stop)]
        return _Rows(computed, kept)

    # ---- the new nodes

    def _compute(self, node: Node) -> None:
        """Computes each part of the node's rows."""
        reach, (value,) = self.slides.reaches[node.name], node.outputs
        rows = self.rows[value]
        for number, part in enumerate(rows.computed):
            name, made = self._named(node, value, is_first=number < len(rows.computed) - 1)
            read = reach.reads(part.first, part.stop)
            x = next(v for v in node.reads if v in self.slides.shifts)
            inputs = tuple(self._taken(v, read) if v in self.slides.shifts else v for v in node.inputs)
            axis, count = self.slides.shifts[x].axis, part.stop - part.first
            op = of_rows(node.op, self.graph.types[x], axis, reach, read, count)
            self.types[made] = with_rows(self.graph.types[value], reach.axis, count)
            self.nodes.append(replace(node, name=name, op=op, inputs=inputs, outputs=(made,)))
            rows.computed[number] = replace(part, value=made)
        self._keep(value)

    def _named(self, node: Node, value: str, is_first: bool) -> tuple[str, str]:
        """Returns the names of the node and of its rows. An output's name is that of all its rows."""
        if is_first:
            name = fresh_name(f"{node.name}/first", self.names)
            self.names.add(name)
            return name, fresh_name(f"{value}/first", self.types)
        is_part = value in self.graph.outputs and len(self.rows[value].parts) > 1
        return node.name, fresh_name(f"{value}/newest", self.types) if is_part else value

    def _set_type(self, value: str, count: int) -> None:
        """Makes the new rows of the input a value of the new model."""
        shift, rows = self.slides.shifts[value], self.rows[value]
        self.types[value] = with_rows(self.graph.types[value], shift.axis, count)
        rows.computed[:] = [replace(rows.computed[-1], value=value)]
        self._keep(value)

    def _keep(self, value: str) -> None:
        """Names the state that has the older rows."""
        rows = self.rows[value]
        if rows.kept is not None:
            name = fresh_name(f"{value}/kept", self.types)
            count = rows.kept.stop - rows.kept.first
            self.types[name] = with_rows(self.graph.types[value], self.slides.shifts[value].axis, count)
            rows.kept = replace(rows.kept, value=name)

    def _whole(self, value: str) -> str:
        """Returns the value with all rows; values that do not slide are whole."""
        if value not in self.slides.shifts:
            return value
        return self._taken(value, (0, self.slides.shifts[value].rows))

    def _taken(self, value: str | None, read: Pair) -> str:
        """Returns a value with these rows, without those outside."""
        assert value is not None
        first, stop = self._inside(value, read)
        key = value, first, stop
        if key not in self.cut:
            parts = self._parts_with(value, first, stop)
            pieces = [
                self._piece(value, part, max(first, part.first), min(stop, part.stop)) for part in parts
            ]
            self.cut[key] = pieces[0] if len(pieces) == 1 else self._join(value, key, pieces)
            self._read_from_join(value, first, stop)
        return self.cut[key]

    def _parts_with(self, value: str, first: int, stop: int) -> list[_Part]:
        """Returns the parts that have these rows: one, if rows were joined for another reader."""
        parts = [p for p in self.rows[value].parts if max(first, p.first) < min(stop, p.stop)]
        joins = (cut for cut in self.cut if cut[0] == value and cut[1] <= first and stop <= cut[2])
        join = next(joins, None)
        return parts if len(parts) == 1 or join is None else [_Part(join[1], join[2], self.cut[join])]

    def _read_from_join(self, value: str, first: int, stop: int) -> None:
        """Lets further readers of computed rows read them where they were joined with others.

        The rows of a value that only the join reads are written there, without a copy.
        """
        computed, joined = self.rows[value].computed, self.cut[value, first, stop]
        for number, part in enumerate(computed):
            if first <= part.first and part.stop <= stop and part.value not in self.graph.inputs:
                computed[number] = replace(part, value=joined, row=part.first - first)

    def _piece(self, value: str, part: _Part, first: int, stop: int) -> str:
        """Returns some rows of a part."""
        axis, kind = self.slides.shifts[value].axis, self.types[part.value]
        if stop - first == kind.shape[axis]:
            return part.value
        shape = with_rows(kind, axis, stop - first).shape
        inner = prod(kind.shape[axis + 1 :])
        strides = tuple(prod(kind.shape[its + 1 :]) for its in range(kind.rank))
        op = Rearrange(shape, shape, strides, (part.row + first - part.first) * inner)
        return self._add(f"{value}/rows_{first}_to_{stop - 1}", op, (part.value,), replace(kind, shape=shape))

    def _join(self, value: str, key: tuple[str, int, int], pieces: Sequence[str]) -> str:
        axis, (_, first, stop) = self.slides.shifts[value].axis, key
        kind, name = self.graph.types[value], f"{value}/rows_{first}_to_{stop - 1}"
        if value in self.graph.outputs and stop - first == kind.shape[axis]:
            del self.types[value]
            name = value
        return self._add(name, Concat(axis), tuple(pieces), with_rows(kind, axis, stop - first))

    def _add(self, name: str, op: Rearrange | Concat, inputs: tuple[str, ...], kind: TensorType) -> str:
        made, node = fresh_name(name, self.types), fresh_name(name, self.names)
        self.types[made] = kind
        self.names.add(node)
        self.nodes.append(Node(node, op, inputs, (made,), f"rows for {OPTION}"))
        return made

    def _states(self) -> Iterator[State]:
        """Yields the states; what they become are the rows that the next window finds one hop earlier."""
        for value, rows in self.rows.items():
            if rows.kept is not None:
                shift, step = self.slides.shifts[value], self.hop // self.slides.shifts[value].stride
                following = self._taken(value, (rows.kept.first + step, rows.kept.stop + step))
                kind = self.types[rows.kept.value]
                is_like = kind.quant is not None and not kind.quant.is_per_channel and kind.dtype.is_integer
                fill = kind.quant.zero_point if kind.quant is not None and is_like else 0
                assert rows.kept.stop + step == shift.stop
                initial = np.full(kind.shape, fill, kind.dtype.numpy)
                yield State(rows.kept.value, following, initial)
