"""Graph to stages: a row format for every value, a kernel for every node, copies where formats meet.

A reshape makes no stage: its output is its input's memory, seen with other rows. Graph inputs and
outputs keep the dense format of the outside world; every other value takes the format that its
readers want. A reader that cannot have its way gets a relayout stage before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from aot.errors import ModelError
from aot.ir.graph import Graph, Node
from aot.passes.names import fresh_name
from aot.plan.model import Kind
from aot.target import Optimize, Target
from codegen.formats import Want, dense_format, geometry, join_wants, serves, wanted_format, zero_point
from codegen.kernels.default_points import default_points, with_default
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.knobs import NOT_TUNED, Point
from codegen.kernels.relayout import copy_constant, copy_constant_rows, relayout
from codegen.kernels.residual import makes_sums, sums_in_stores
from codegen.kernels.searched import with_sketches
from codegen.kernels.table import KERNELS
from codegen.model import CompileOptions, RowFormat
from codegen.parts import Part, begins_at_a_word, is_join, parts_of
from codegen.stages import PUSHED, Lowered, LoweredStage, Reading, Result, Tensor, whole_result
from codegen.streaming import streamed_input
from codegen.views import ending_at_words, parts_of_a_row, view_format, view_roots, with_rows_around

_VIEW = "reshape"  # the op that only looks at memory in another way


def lower_graph(
    graph: Graph,
    target: Target,
    options: CompileOptions,
    wide: frozenset[str] | None = None,
    tuned: Mapping[str, Point] = NOT_TUNED,
    bare: frozenset[str] = frozenset(),
) -> Lowered:
    """Kernels and formats for every node; wide rows for the nodes named, or as the goal says.

    The nodes named as bare do without margins where their kernels can.

    Raises ModelError naming all nodes that have no kernel.
    """
    _require_kernels(graph)
    if wide is None:
        wide = frozenset(n.name for n in graph.nodes if options.optimize is not Optimize.RAM)
    return _Lowering(graph, target, options, wide, tuned, bare).run()


def _require_kernels(graph: Graph) -> None:
    """Every operation must have a kernel for its element type; all that have none are named at once."""
    missing = []
    for node in graph.nodes:
        dtypes = {t.dtype for t in (*graph.output_types(node), *graph.input_types(node)[:1]) if t is not None}
        if node.op.name != _VIEW and not dtypes <= KERNELS[node.op.name].dtypes:
            names = ", ".join(sorted(d.value for d in dtypes))
            missing.append(f"{node.op.name} on {names} ({node.origin or node.name})")
    if missing:
        raise ModelError(
            f"{len(missing)} of {len(graph.nodes)} operations have no kernel",
            "\n".join(missing),
            "docs/ops.md lists the element types: int8 or float32, inputs and outputs included",
        )


class _Lowering:
    """Holds what is found on the way; run() once."""

    def __init__(
        self,
        graph: Graph,
        target: Target,
        options: CompileOptions,
        wide: frozenset[str],
        tuned: Mapping[str, Point],
        bare: frozenset[str],
    ) -> None:
        self.graph = graph
        self.target = target
        self.options = options
        self.wide = wide
        self.tuned = tuned
        self.bare = bare
        self.defaults = default_points(target.core, options.optimize)
        self.views = view_roots(graph)
        self.sites = {node.name: self._site(node) for node in graph.nodes if node.op.name != _VIEW}
        sums = sums_in_stores(graph).items()
        self.sums = {name: node for name, node in sums if makes_sums(self.sites[node.name])}
        self.summing = {node.name for node in self.sums.values()}
        self.wants = {name: KERNELS[site.node.op.name].wants_at(site) for name, site in self.sites.items()}
        self.tensors: dict[str, Tensor] = {}
        self.stages: list[LoweredStage] = []
        self.copies: dict[tuple[str, Want], str] = {}
        self.delivered: dict[str, str] = {}
        self.joins: dict[str, list[Part]] = {}  # node that joins rows -> its inputs
        self.results: dict[str, Result] = {}  # value that is made where it is joined to others

    def run(self) -> Lowered:
        if self.options.stream:
            self._receive(streamed_input(self.graph))
        else:
            self.tensors |= {value: self._fixed(value, Kind.INPUT) for value in self.graph.inputs}
        self.tensors |= {state.name: self._fixed(state.name, Kind.STATE) for state in self.graph.states}
        for node in self.graph.nodes:
            if is_join(node, self.graph):
                self._prepare_join(node)
        for node in self.graph.nodes:
            if node.name in self.joins:
                self._copy_parts(node)
            elif node.op.name != _VIEW and node.name not in self.summing:
                self._add_node(node)
        for value in self.graph.outputs:
            self._deliver(value)
        self._keep_states()
        return Lowered(self.tensors, tuple(self.stages), self.views, self.delivered)

    def _receive(self, value: str) -> None:
        """The rows of the input are copied as they come, into the format that its readers want."""
        tensor, value_type = self._made(value), self.graph.types[value]
        kernel = relayout(value_type, dense_format(value_type), tensor.format)
        self.tensors[value] = tensor
        reads = (Reading(PUSHED, kernel.access[0]),)
        result = whole_result(tensor, value)
        self.stages.append(LoweredStage(f"receive {value}", None, "receive", kernel, reads, result))

    def _site(self, node: Node) -> Site:
        graph = self.graph
        constants = {
            i: graph.constants[v] for i, v in enumerate(node.inputs) if v is not None and v in graph.constants
        }
        return Site(
            node,
            graph.input_types(node),
            graph.output_types(node),
            constants,
            self.target,
            self.options.optimize,
            node.name in self.wide,
            self.tuned,
            node.name in self.bare,
        )

    def _add_node(self, last: Node) -> None:
        """A stage for the node; for a sum that a convolution's store makes, one for both."""
        node = self.sums.get(last.name, last)
        site, op_kernel = self.sites[node.name], KERNELS[node.op.name]
        reads = self._reads(node)
        if node is not last:
            site = replace(site, addition=self.sites[last.name])
            reads += [(v, None) for v in last.reads if v not in node.outputs]
        takes_rows = op_kernel.takes_rows and op_kernel.takes_rows_at(site)
        sources = [self._source(v, want, takes_rows) for v, want in reads]
        (made,) = last.outputs
        in_one_piece = self._goes_in_one_piece(node)
        result = self._result(made, in_one_piece)
        formats = [view or self.tensors[name].format for name, view in sources]

        def lower(tuned: Mapping[str, Point]) -> Kernel:
            wanted = {**self.defaults, **tuned}
            made = op_kernel.lower(replace(site, tuned=wanted), formats, result.format)
            return with_default(with_sketches(made, wanted), self.defaults)

        kernel = lower(self.tuned)
        assert kernel.whole == in_one_piece, f"{node.op.name} does not do as it wants"
        fills = [0 if want is None else want.fill_of(self.graph.types[value]) for value, want in reads]
        readings = tuple(
            Reading(n, a, v, fill) for (n, v), a, fill in zip(sources, kernel.access, fills, strict=True)
        )
        op = "+".join(dict.fromkeys((node.op.name, last.op.name)))
        values = tuple(value for value, _ in reads)
        self.stages.append(
            LoweredStage(self._stage_name(node), node, op, kernel, readings, result, lower, values)
        )

    def _goes_in_one_piece(self, node: Node) -> bool:
        return any(want is not None and want.whole for want in self.wants[node.name])

    def _result(self, value: str, in_one_piece: bool) -> Result:
        """What a node's stage writes: a tensor of its own, or its part of one that joins several."""
        if value in self.results:
            return self.results[value]
        tensor = self._fixed(value, self._kind(value), True) if in_one_piece else self._made(value)
        self.tensors[value] = tensor
        return whole_result(tensor, value)

    def _prepare_join(self, node: Node) -> None:
        """The tensor, and which stages write their part of it."""
        (made,) = node.outputs
        tensor = self._made(made)
        parts = parts_of(node, self.graph, self.views, tensor)
        if any(part.result.rows_each > 1 for part in parts):
            tensor = self._fixed(made, self._kind(made), in_one_piece=True)
            parts = parts_of(node, self.graph, self.views, tensor)
        self.tensors[made] = tensor
        for part in parts:
            if self._can_write(part, tensor):
                self.results[part.result.value] = part.result
        self.joins[node.name] = parts

    def _can_write(self, part: Part, tensor: Tensor) -> bool:
        """Whether the maker's kernel can: what has one row, or is in one piece, may be taken for words."""
        if part.maker is None:
            return False
        in_one_piece = self._goes_in_one_piece(part.maker)
        is_single = in_one_piece or part.result.image_rows == 1
        return (tensor.whole or not in_one_piece) and (begins_at_a_word(part.result, tensor) or not is_single)

    def _copy_parts(self, node: Node) -> None:
        """Those that are not written where they belong as they are made."""
        for number, part in enumerate(self.joins[node.name]):
            if part.result.value not in self.results:
                self._copy_part(node, f"{self._stage_name(node)}[{number}]", part)

    def _copy_part(self, node: Node, name: str, part: Part) -> None:
        result, unit = part.result, part.result.value
        if unit in self.graph.constants:
            kernel = copy_constant_rows(result.type, self.graph.constants[unit], result.format)
            self.stages.append(LoweredStage(name, node, node.op.name, kernel, (), result))
            return
        root, view = self._source(unit, None, takes_rows=False)
        kernel = relayout(result.type, view or self.tensors[root].format, result.format)
        kernel = replace(kernel, why="others join its rows")
        reads = (Reading(root, kernel.access[0], view),)
        self.stages.append(LoweredStage(name, node, node.op.name, kernel, reads, result, values=(unit,)))

    def _reads(self, node: Node) -> list[tuple[str, Want | None]]:
        """What comes at run time, as it is wanted."""
        values = [v for v in node.reads if v not in self.graph.constants]
        return list(zip(values, self.wants[node.name], strict=True))

    def _stage_name(self, node: Node) -> str:
        """The node's name, unless its sums would then have the name of a tensor."""
        taken = {name.removesuffix(".state") for name in self.graph.types if name.endswith(".state")}
        return fresh_name(node.name, taken)

    def _source(self, value: str, want: Want | None, takes_rows: bool) -> tuple[str, RowFormat | None]:
        """The tensor to read a value from, and its row format where that is not the tensor's own."""
        root = self.views.get(value, value)
        tensor, value_type = self.tensors[root], self.graph.types[value]
        if takes_rows and self._is_flattened(value) and self._takes_image_rows(value):
            return root, None
        view = view_format(value_type, tensor.type, tensor.format)
        if want is None or serves(view or tensor.format, want, value_type):
            return root, view
        return self._copy(root, value, view, want), None

    def _is_flattened(self, value: str) -> bool:
        """Whether the value is one vector made of the several rows of an image computed in the run."""
        root = self.views.get(value)
        if root is None or root in self.graph.given:
            return False
        return geometry(self.graph.types[value]).rows == 1 < geometry(self.graph.types[root]).rows

    def _copy(self, root: str, value: str, view: RowFormat | None, want: Want) -> str:
        """A relayout of the value as wanted; readers that want the same share it."""
        known = self.copies.get((value, want))
        if known is not None:
            return known
        value_type = self.graph.types[value]
        wish = f"{value}.{want.order.value}{want.dtype_bytes * 8}"
        name = fresh_name(wish, self.graph.types, self.tensors)
        copy = Tensor(name, value_type, wanted_format(value_type, want), Kind.INNER, want.whole)
        kernel = relayout(value_type, view or self.tensors[root].format, copy.format)
        self.tensors[name] = copy
        self.copies[value, want] = name
        reads = (Reading(root, kernel.access[0], view),)
        result = whole_result(copy, value)
        self.stages.append(LoweredStage(f"relayout {value}", None, "relayout", kernel, reads, result))
        return name

    def _made(self, value: str) -> Tensor:
        """The tensor that a node writes: as its readers want it, dense where a view or the caller looks."""
        if value in self.graph.outputs or value in self.views.values():
            return self._fixed(value, self._kind(value))
        value_type = self.graph.types[value]
        wants = [want for want in self._reader_wants(value) if want is not None]
        if not wants:
            return self._fixed(value, Kind.INNER)
        chosen = join_wants(wants) or wants[0]
        if any(want.whole for want in wants):
            return self._fixed(value, Kind.INNER)
        return Tensor(value, value_type, wanted_format(value_type, chosen), Kind.INNER)

    def _reader_wants(self, value: str) -> list[Want | None]:
        wants = []
        for node in self.graph.readers[value]:
            if node.op.name == _VIEW:
                continue
            wants += [want for v, want in self._reads(node) if v == value]
        return wants

    def _kind(self, value: str) -> Kind:
        return Kind.OUTPUT if value in self.graph.outputs else Kind.INNER

    def _fixed(self, value: str, kind: Kind, in_one_piece: bool = False) -> Tensor:
        value_type = self.graph.types[value]
        wants = self._reader_wants(value)
        in_one_piece = in_one_piece or any(want is not None and want.whole for want in wants)
        whole = in_one_piece or self._is_looked_at_whole(value)
        fmt = dense_format(value_type)
        if kind is Kind.INNER and not whole:
            fmt = with_rows_around(fmt, self._wants_of_parts(value), zero_point(value_type))
            fmt = ending_at_words(fmt) if self._is_read_by_groups(value) else fmt
        return Tensor(value, value_type, fmt, kind, whole)

    def _wants_of_parts(self, value: str) -> list[tuple[Want, int]]:
        """What readers of views with short rows want, and how many of these make a row of the value."""
        types = self.graph.types
        views = [(view, parts_of_a_row(types[view], types[value])) for view in self._views_of(value)]
        return [(want, parts) for view, parts in views if parts for want in self._reader_wants(view) if want]

    def _views_of(self, value: str) -> list[str]:
        return [view for view, root in self.views.items() if root == value]

    def _is_looked_at_whole(self, value: str) -> bool:
        """Whether a view of it is read with other rows than its own: then its rows must lie together."""
        return any(view in self.graph.kept or not self._goes_by_rows(view) for view in self._views_of(value))

    def _goes_by_rows(self, view: str) -> bool:
        if parts_of_a_row(self.graph.types[view], self.graph.types[self.views[view]]):
            return not any(want is not None and want.whole for want in self._reader_wants(view))
        if not self._is_flattened(view):
            return not self._reader_wants(view)
        return self._takes_image_rows(view)

    def _takes_image_rows(self, vector: str) -> bool:
        """Whether readers of a vector can take the rows of its image, which must end at words for that."""
        readers = [node for node in self.graph.readers[vector] if node.op.name != _VIEW]
        kernels = [(KERNELS[node.op.name], self.sites[node.name]) for node in readers]
        if not all(kernel.takes_rows and kernel.takes_rows_at(site) for kernel, site in kernels):
            return False
        root = self.views[vector]
        kind = self.graph.types[root]
        ends_at_words = dense_format(kind).row_elements % 4 == 0 or kind.dtype.bytes == 4
        return ends_at_words or self._may_be_padded(root)

    def _is_read_by_groups(self, value: str) -> bool:
        """Whether dense layers take its rows, and may."""
        vectors = [view for view in self._views_of(value) if self._reader_wants(view)]
        are_narrow = self.graph.types[value].dtype.bytes < 4
        return are_narrow and bool(vectors) and self._may_be_padded(value)

    def _may_be_padded(self, value: str) -> bool:
        """Whether there may be gaps between rows: nobody looks at all in one piece, or at parts of rows."""
        maker = self.graph.producers[value]
        views = [view for view in self._views_of(value) if self._reader_wants(view)]
        wants = [*self.wants.get(maker.name, ()), *self._reader_wants(value)]
        is_kept = any(v in self.graph.kept for v in (value, *self._views_of(value)))
        in_one_piece = any(want is not None and want.whole for want in wants)
        return not is_kept and not in_one_piece and all(self._is_flattened(view) for view in views)

    def _deliver(self, value: str) -> None:
        """An output that is a view, or an input passed through, is copied to where the caller wants it."""
        if value in self.tensors and self.tensors[value].kind is Kind.OUTPUT:
            return
        value_type = self.graph.types[value]
        if value in self.graph.constants:
            self.tensors[value] = self._fixed(value, Kind.OUTPUT, in_one_piece=True)
            kernel = copy_constant(value_type, self.graph.constants[value])
            result = whole_result(self.tensors[value], value)
            self.stages.append(LoweredStage(f"deliver {value}", None, "relayout", kernel, (), result))
            return
        root = self.views.get(value, value)
        view = view_format(value_type, self.tensors[root].type, self.tensors[root].format)
        kernel = relayout(value_type, view or self.tensors[root].format, dense_format(value_type))
        name = value
        if value in self.tensors:
            name = self.delivered[value] = fresh_name(f"{value}.out", self.graph.types, self.tensors)
        self.tensors[name] = Tensor(name, value_type, dense_format(value_type), Kind.OUTPUT)
        reads = (Reading(root, kernel.access[0], view),)
        result = whole_result(self.tensors[name], value)
        self.stages.append(LoweredStage(f"deliver {value}", None, "relayout", kernel, reads, result))

    def _keep_states(self) -> None:
        """Last of all each state takes what it is to hold in the next run."""
        memory = {state.name: self._apart_from_states(state.next) for state in self.graph.states}
        for number, state in enumerate(self.graph.states):
            root, view = memory[state.name]
            source, kept = self.tensors[root], self.tensors[state.name]
            kernel = relayout(kept.type, view or source.format, kept.format)
            reads = (Reading(root, kernel.access[0], view),)
            name = f"keep[{number}] {state.next}"
            result = whole_result(kept, state.next)
            self.stages.append(LoweredStage(name, None, "relayout", kernel, reads, result))

    def _apart_from_states(self, value: str) -> tuple[str, RowFormat | None]:
        """Where a value can be read after states have been written: what is a state itself is copied."""
        root = self.views.get(value, value)
        tensor, value_type = self.tensors[root], self.graph.types[value]
        view = view_format(value_type, tensor.type, tensor.format)
        if tensor.kind is not Kind.STATE:
            return root, view
        return self._copy(root, value, view, Want(dtype_bytes=value_type.dtype.bytes)), None
