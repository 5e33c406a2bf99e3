"""Lowers a graph to stages: a tensor for every value, a kernel for every node, copies if formats differ.

A reshape needs no stage: its output is its input's memory with other rows. `tensors.py` chooses the
tensor of each value. If a reader cannot use its format, a relayout stage copies the value first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from aot.errors import UnsupportedError
from aot.ir.graph import Graph, Node
from aot.ir.region import DeviceRegion
from aot.ops.rearrange import Rearrange
from aot.passes.values import fresh_name
from aot.plan.model import Kind
from aot.target import Target
from codegen.formats import RowFormat, RowRequest, dense_format, requested_format, satisfies
from codegen.isa.table import rewritten
from codegen.kernels.approximate import with_approximations
from codegen.kernels.half_weights import with_half_weights
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.knobs import NOT_TUNED, Point
from codegen.kernels.nests import with_sketches
from codegen.kernels.planned_scratch import with_planned_scratch
from codegen.kernels.relayout import copy_constant, copy_constant_rows, lacking, relayout
from codegen.kernels.strategy import ChosenStrategy
from codegen.kernels.table import KERNELS
from codegen.kernels.tuning_records import default_points, with_default
from codegen.lower.code_cache import within_cache
from codegen.lower.decisions import Decisions, decisions_for
from codegen.lower.sites import KernelsMade, Sites, site_key
from codegen.lower.stages import (
    STREAMED_ROW,
    Lowered,
    LoweredStage,
    LoweredTensor,
    Reading,
    Result,
    whole_result,
)
from codegen.lower.tensors import (
    JoinedPart,
    TensorChoice,
    begins_at_a_word,
    called_as_outputs,
    is_join,
    is_view,
    made_at_outputs,
    parts_of,
    streamed_input,
    view_format,
    view_roots,
)
from codegen.options import CompileOptions

_Source = tuple[str, RowFormat | None]  # a tensor, and the rows to read it in if they differ from its own


def lower_graph(
    graph: Graph,
    target: Target,
    options: CompileOptions,
    decisions: Decisions | None = None,
    made: KernelsMade | None = None,
) -> Lowered:
    """Chooses kernels and formats for every node by `decisions`, which by default follow from the goal.

    Kernels in `made` are used again. Raises ModelError with all nodes that have no kernel.
    """
    _require_kernels(graph)
    decided = decisions_for(graph, options.optimize) if decisions is None else decisions
    return _Lowering(Sites(graph, target, options, decided, made or KernelsMade())).run()


def _require_kernels(graph: Graph) -> None:
    """Raises ModelError with all operations that have no kernel for their element type."""
    missing = []
    for node in graph.nodes:
        dtypes = {t.dtype for t in (*graph.output_types(node), *graph.input_types(node)[:1]) if t is not None}
        if isinstance(node.op, DeviceRegion) or is_view(node):
            continue
        if not dtypes <= KERNELS[node.op.name].dtypes:
            names = ", ".join(sorted(d.value for d in dtypes))
            missing.append(f"{node.op.name} on {names} ({node.origin or node.name})")
    if missing:
        raise UnsupportedError(
            f"{len(missing)} of {len(graph.nodes)} operations have no kernel",
            "\n".join(missing),
            "deploy docs ops lists the element types: int8 or float32, inputs and outputs included",
        )


class _Lowering:
    """The state of one lowering; call run() once."""

    def __init__(self, sites: Sites) -> None:
        self.graph = sites.graph
        self.options = sites.options
        self.tuned = sites.decisions.tuned
        self.kernels_made = sites.made.kernels
        self.views = view_roots(self.graph, sites.updates)
        self.updates = sites.updates
        self.sites = {node.name: sites.of(node) for node in self.graph.nodes if not is_view(node)}
        self.chosen = {name: sites.chosen_for(site) for name, site in self.sites.items()}
        at_outputs = {} if sites.decisions.copies_views else made_at_outputs(self.graph, self.views)
        self.choice = TensorChoice(self.graph, self.views, self.chosen, at_outputs)
        self.tensors: dict[str, LoweredTensor] = {}
        self.stages: list[LoweredStage] = []
        self.copies: dict[tuple[str, RowRequest], str] = {}
        self.delivered: dict[str, str] = {}
        self.placed: dict[str, str] = {}  # value -> the output that its tensor is
        self.joins: dict[str, list[JoinedPart]] = {}  # node that joins rows -> its inputs
        self.results: dict[str, Result] = {}  # values that are written directly into a joined tensor

    def run(self) -> Lowered:
        if self.options.stream:
            self._receive(streamed_input(self.graph))
        else:
            self.tensors |= {value: self.choice.dense(value, Kind.INPUT) for value in self.graph.inputs}
        self.tensors |= {state.name: self.choice.dense(state.name, Kind.STATE) for state in self.graph.states}
        for value, state in self.updates.items():
            self.results[value] = whole_result(self.tensors[state], value)
        self.results |= self._written_states()
        for node in self.graph.nodes:
            if is_join(node, self.graph):
                self._prepare_join(node)
        for node in self.graph.nodes:
            if node.name in self.joins:
                self._copy_parts(node)
            elif not is_view(node):
                self._add_node(node)
        for value in self.graph.outputs:
            self._deliver(value)
        self._keep_states()
        lowered = Lowered(self.tensors, tuple(self.stages), self.delivered)
        return called_as_outputs(lowered, self.placed)

    def _receive(self, value: str) -> None:
        """Copies the rows of the input on arrival into the format that its readers request."""
        tensor, value_type = self.choice.as_requested(value), self.graph.types[value]
        kernel = relayout(
            value_type, dense_format(value_type), tensor.format, "rows are copied as they are pushed"
        )
        self.tensors[value] = tensor
        reads = (Reading(STREAMED_ROW, kernel.access[0]),)
        result = whole_result(tensor, value)
        self.stages.append(LoweredStage(f"receive {value}", None, "receive", kernel, reads, result))

    def _add_node(self, node: Node) -> None:
        site, chosen = self.sites[node.name], self.chosen[node.name]
        requested = self.choice.reads(node)
        sources = [self._source_for(chosen, value, request) for value, request in requested]
        in_one_piece = self.choice.must_be_contiguous(node)
        result, *others = (self._result(value, in_one_piece) for value in node.outputs)
        formats = tuple(view or self.tensors[name].format for name, view in sources)
        lower = _lowering_of(site, chosen, formats, result.format, self.options.approximate)
        key = (*site_key(site), formats, result.format)
        kernel = self.kernels_made.get(key) or self.kernels_made.setdefault(key, lower(self.tuned))
        readings = tuple(
            Reading(tensor, access, view, 0 if request is None else request.fill_of(self.graph.types[value]))
            for (tensor, view), access, (value, request) in zip(
                sources, kernel.access, requested, strict=True
            )
        )
        self.stages.append(
            LoweredStage(
                name=self._stage_name(node),
                node=node,
                op=node.op.name,
                kernel=kernel,
                reads=readings,
                result=result,
                relower=lower,
                values=tuple(value for value, _ in requested),
                others=tuple(others),
                requests=chosen.requests,
            )
        )

    def _result(self, value: str, in_one_piece: bool) -> Result:
        """Returns the result of a node's stage: its own tensor, or its part of a joined one."""
        if value in self.results:
            return self.results[value]
        kind = self.choice.kind(value)
        tensor = self.choice.dense(value, kind, True) if in_one_piece else self.choice.as_requested(value)
        self.tensors[value] = tensor
        return whole_result(tensor, value)

    def _prepare_join(self, node: Node) -> None:
        """Creates the joined tensor and finds the stages that write their part of it."""
        (made,) = node.outputs
        tensor = self.choice.as_requested(made)
        parts = parts_of(node, self.graph, self.views, tensor)
        if any(part.result.rows_each > 1 for part in parts):
            tensor = self.choice.dense(made, self.choice.kind(made), in_one_piece=True)
            parts = parts_of(node, self.graph, self.views, tensor)
        self.tensors[made] = tensor
        for part in parts:
            if self._can_write(part, tensor):
                self.results[part.result.value] = part.result
        self.joins[node.name] = parts

    def _can_write(self, part: JoinedPart, tensor: LoweredTensor) -> bool:
        """Returns whether the kernel that computes the part can write into the tensor.

        Parts with one row, or in one piece, may be accessed in 32-bit units. A kernel that demands memory can
        write to whole tensors at addresses of the plan, but not into the middle of one.
        """
        if part.maker is None or self.chosen[part.maker.name].demands_memory:
            return False
        in_one_piece = self.choice.must_be_contiguous(part.maker)
        is_single = in_one_piece or part.result.image_rows == 1
        return (tensor.whole or not in_one_piece) and (begins_at_a_word(part.result, tensor) or not is_single)

    def _copy_parts(self, node: Node) -> None:
        """Copies the parts that their stages cannot write in place."""
        for number, part in enumerate(self.joins[node.name]):
            if part.result.value not in self.results:
                self._copy_part(node, f"{self._stage_name(node)}[{number}]", part)

    def _copy_part(self, node: Node, name: str, part: JoinedPart) -> None:
        result, unit = part.result, part.result.value
        if unit in self.graph.constants:
            kernel = copy_constant_rows(result.type, self.graph.constants[unit], result.format)
            self.stages.append(LoweredStage(name, node, node.op.name, kernel, (), result))
            return
        self._add_copy(name, self._held(unit), result, "its rows join others", node)

    def _stage_name(self, node: Node) -> str:
        """Returns the node's name, unless its sums would then have the name of a tensor."""
        return fresh_name(node.name, self._state_names)

    @cached_property
    def _state_names(self) -> frozenset[str]:
        return frozenset(n.removesuffix(".state") for n in self.graph.types if n.endswith(".state"))

    def _source_for(self, chosen: ChosenStrategy, value: str, request: RowRequest | None) -> _Source:
        """Returns what a node reads: a copy if it needs another format, or planned memory for an argument."""
        held, view = self._held(value)
        tensor, value_type = self.tensors[held], self.graph.types[value]
        if chosen.demands_memory and tensor.kind in (Kind.INPUT, Kind.OUTPUT):
            own = RowRequest(dtype_bytes=value_type.dtype.bytes)
            return self._copy(value, request or own, "its readers need the planned memory")
        is_flat = chosen.reads_image_rows and self.choice.is_flattened(value)
        if is_flat and self.choice.takes_image_rows(value):
            return held, None
        if request is None or satisfies(view or tensor.format, request, value_type):
            return held, view
        return self._copy(value, request)

    def _held(self, value: str) -> _Source:
        """Returns the tensor that holds the value."""
        held = self.views.get(value, value)
        tensor = self.tensors[held]
        return held, view_format(self.graph.types[value], tensor.type, tensor.format)

    def _copy(self, value: str, request: RowRequest, why: str = "") -> _Source:
        """Returns a copy of the value as requested; readers with the same request share it."""
        known = self.copies.get((value, request))
        if known is not None:
            return known, None
        value_type, (held, view) = self.graph.types[value], self._held(value)
        base = f"{value}.{request.order.value}{request.dtype_bytes * 8}"
        name = fresh_name(base, self.graph.types, self.tensors)
        copy = LoweredTensor(
            name, value_type, requested_format(value_type, request), Kind.INNER, request.whole
        )
        why = why or f"its readers need {lacking(value_type, view or self.tensors[held].format, request)}"
        self.tensors[name] = copy
        self.copies[value, request] = name
        self._add_copy(f"relayout {value}", (held, view), whole_result(copy, value), why)
        return name, None

    def _add_copy(
        self, name: str, source: _Source, result: Result, why: str, join: Node | None = None
    ) -> None:
        """Adds a stage that copies rows; `join` is the node whose result they are a part of, if any."""
        tensor, view = source
        kernel = relayout(result.type, view or self.tensors[tensor].format, result.format, why)
        reads = (Reading(tensor, kernel.access[0], view),)
        op, values = ("relayout", ()) if join is None else (join.op.name, (result.value,))
        self.stages.append(LoweredStage(name, join, op, kernel, reads, result, values=values))

    def _deliver(self, value: str) -> None:
        """Copies an output that is not in the caller's buffer, such as an input that is passed through."""
        if value in self.tensors and self.tensors[value].kind is Kind.OUTPUT:
            return
        shown = self.views.get(value, value)
        if self.choice.at_outputs.get(shown) == value and self.tensors[shown].kind is Kind.OUTPUT:
            self.placed[shown] = value
            return
        value_type = self.graph.types[value]
        if value in self.graph.constants:
            self.tensors[value] = self.choice.dense(value, Kind.OUTPUT, in_one_piece=True)
            kernel = copy_constant(value_type, self.graph.constants[value])
            result = whole_result(self.tensors[value], value)
            self.stages.append(LoweredStage(f"deliver {value}", None, "relayout", kernel, (), result))
            return
        source, name = self._held(value), value
        if value in self.tensors:
            name = self.delivered[value] = fresh_name(f"{value}.out", self.graph.types, self.tensors)
        self.tensors[name] = LoweredTensor(name, value_type, dense_format(value_type), Kind.OUTPUT)
        result = whole_result(self.tensors[name], value)
        self._add_copy(f"deliver {value}", source, result, "it is an output that the caller owns")

    def _keep_states(self) -> None:
        """Copies into each state, at the end, its value for the next run, unless it is there."""
        copied = [
            state
            for state in self.graph.states
            if state.next not in self.results and self.views.get(state.next, state.next) != state.name
        ]
        sources = [self._apart_from_states(state.next) for state in copied]
        for number, (state, source) in enumerate(zip(copied, sources, strict=True)):
            result = whole_result(self.tensors[state.name], state.next)
            self._add_copy(f"keep[{number}] {state.next}", source, result, "kept for the next run")

    def _written_states(self) -> dict[str, Result]:
        """Returns the rows of other values that go into a state which nothing reads afterwards."""
        root = self.views.get
        kept = [root(value, value) for value in self.graph.kept]
        last = {root(v, v): n for n, node in enumerate(self.graph.nodes) for v in node.reads}
        found = dict[str, Result]()
        for state in self.graph.states:
            node = self.graph.producers.get(state.next)
            if node is None or not isinstance(node.op, Rearrange) or self.graph.readers[state.next]:
                continue
            source, number = node.reads[0], self.graph.nodes.index(node)
            picks = node.op.picks(self.graph.types[source])
            is_over = root(source, source) != state.name and last.get(state.name, -1) < number
            if picks is not None and is_over and kept.count(state.next) == 1 and state.name not in kept:
                found[state.next] = whole_result(self.tensors[state.name], state.next)
        return found

    def _apart_from_states(self, value: str) -> _Source:
        """Returns a tensor with the value after states were written: a copy if the value is a state."""
        held, view = self._held(value)
        if self.tensors[held].kind is not Kind.STATE:
            return held, view
        return self._copy(value, RowRequest(dtype_bytes=self.graph.types[value].dtype.bytes))


def _lowering_of(
    site: Site,
    chosen: ChosenStrategy,
    inputs: Sequence[RowFormat],
    output: RowFormat,
    approximate: bool,
) -> Callable[[Mapping[str, Point]], Kernel]:
    """Returns the function from tuned points to a node's kernel.

    Stages keep it. It does not refer to the lowering, whose memory is then free.
    """
    target = site.target
    defaults = NOT_TUNED if site.is_plain else default_points(target.core, site.optimize)

    def made_with(points: Mapping[str, Point]) -> Kernel:
        made = chosen.lower(replace(site, tuned=points), inputs, output)
        made = made if site.is_plain else with_sketches(made, points)
        made = with_approximations(made) if approximate else made
        made = with_half_weights(made, target) if site.half_weights else made
        return with_planned_scratch(rewritten(made, target))

    def lower(tuned: Mapping[str, Point]) -> Kernel:
        wanted = {**defaults, **tuned}
        made = with_default(made_with(wanted), defaults)
        if made.space is None or made.space.task in tuned:
            return made
        task, cache_bytes = made.space.task, target.code_cache_bytes
        return within_cache(
            made, made.space.default, cache_bytes, lambda point: made_with({**wanted, task: point})
        )

    return lower
