"""The compiler's steps in order: file -> graph -> passes -> stages -> plan -> sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from aot.ir.graph import Graph
from aot.plan.model import Kind, Plan
from aot.plan.wholes import whole_tensor_bound
from aot.positions import index_limits, position_limits
from aot.target import Target
from codegen.c.arenas import arenas_of, state_infos
from codegen.c.constants import ConstantCollector, Constants
from codegen.c.dialect import Dialect, dialect_of
from codegen.c.emit import SourceParts, c_headers, emit_sources, layer_code
from codegen.c.estimate import estimate_code_bytes
from codegen.c.layers import RunMaker
from codegen.c.names import CNames, layer_labels, short_identifiers, unique_identifiers
from codegen.c.observe import observation_of
from codegen.c.provenance import made_by, needs
from codegen.checking import check_plan
from codegen.fit.layer_cycles import RunCycles, cycle_table
from codegen.fit.memory_use import kept_limits
from codegen.fit.plan_job import plan_job
from codegen.fit.variant import CompiledPlan
from codegen.job import Job
from codegen.layer_infos import is_tuned, layer_infos
from codegen.lower.stage_rows import rows_outside
from codegen.lower.stages import Lowered
from codegen.model import (
    ExternalWeights,
    KeptLimit,
    LayerCode,
    LayerInfo,
    PackedTable,
    TensorInfo,
)
from codegen.options import CDialect, CompileOptions
from codegen.version import VERSION

if TYPE_CHECKING:
    from codegen.c.constants import WeightsLayout

_ALIGN = 4
_NAMELESS = "model"
_FLAGS = {"speed": ("-O2",), "size": ("-Os",), "ram": ("-O2",)}


@dataclass(frozen=True)
class CompiledModel:
    """A plan, and the parts that its C files are printed from."""

    planned: CompiledPlan
    parts: SourceParts = field(repr=False)
    layers: tuple[LayerInfo, ...]
    weights: ExternalWeights | None = field(default=None, repr=False)  # None if they are in the code
    table: PackedTable | None = field(default=None, repr=False)  # None unless tables can run its kernels

    @property
    def name(self) -> str:
        return self.parts.name

    @property
    def target(self) -> Target:
        return self.planned.job.target

    @property
    def options(self) -> CompileOptions:
        return self.planned.job.options

    @property
    def graph(self) -> Graph:
        """Returns the graph after all passes, as the layers compute it."""
        return self.planned.graph

    @property
    def plan(self) -> Plan:
        return self.planned.plan

    @property
    def inputs(self) -> tuple[TensorInfo, ...]:
        return self.parts.inputs

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        return self.parts.outputs

    @property
    def constants(self) -> Constants:
        return self.parts.constants

    @property
    def code_bytes_estimate(self) -> int:
        return estimate_code_bytes(self.parts.library, self.parts.run, self.target)

    @property
    def c_headers(self) -> tuple[str, ...]:
        """Returns the standard headers that its files include."""
        return c_headers(self.parts)

    @property
    def limits(self) -> tuple[KeptLimit, ...]:
        """Returns the user's limits of single memories, with what the model takes of each."""
        return tuple(each for each in kept_limits(self.planned) if each.region)

    @cached_property
    def whole_tensor_bound_bytes(self) -> int:
        """Returns a lower bound of the arena without rings; computed when first read."""
        return whole_tensor_bound(self.planned.job.model.graph, self.options.caller_owns_io)

    @cached_property
    def sources(self) -> Mapping[str, str]:
        """Returns the texts of "<name>.c", "<name>.h", "<name>_weights.c", ...; printed when first read."""
        return emit_sources(self.parts)

    def code_of(self, layer: int) -> LayerCode:
        parts = self.parts
        return layer_code(layer, self.planned.lowered, parts.library, parts.run, parts.dialect)

    def estimate_cycles(self) -> RunCycles | None:
        """Returns the cycles of a run; None for accelerators and this computer, whose time is not modeled."""
        if self.options.accelerators or self.target.machine == "host":
            return None
        return cycle_table(self.planned.job.kernel_target).estimate(self.planned.lowered)


def compile_job(job: Job) -> CompiledModel:
    """Compiles a job. Raises ModelError if the model is not supported, FitError if it does not fit."""
    if job.options.weights_external:
        from codegen.c.constants import require_possible

        require_possible(job.options, job.target.constant_space)
    if job.options.tables:
        from codegen.tables.table import require_tables_possible

        require_tables_possible(job.options, job.target.constant_space)
    planned = plan_job(job)
    if job.options.check:
        check_plan(planned)
    return compile_plan(planned)


def compile_plan(planned: CompiledPlan) -> CompiledModel:
    """Makes the parts of a plan's C files."""
    parts, layers = _source_parts(
        planned, _names_in_c(planned.job.model.name, planned.graph, planned.lowered)
    )
    weights = None if parts.weights is None else _external(planned, parts.weights)
    parts, table = _with_table(planned, parts) if planned.job.options.tables else (parts, None)
    return CompiledModel(planned, parts, layers, weights, table)


def _c_flags(dialect: Dialect, options: CompileOptions) -> tuple[str, ...]:
    return dialect.standard, *(options.at_level.c_flags or _FLAGS[options.optimize.value])


def _names_in_c(model: str, graph: Graph, lowered: Lowered) -> CNames:
    """Returns the user's names. Inputs and outputs are the user's interface and keep their whole names."""
    outputs = (lowered.delivered.get(value, value) for value in graph.outputs)
    interface = unique_identifiers((*graph.inputs, *outputs), "tensor")
    inner = [tensor for tensor in lowered.tensors if tensor not in interface]
    shortened = short_identifiers(inner, "tensor", set(interface.values()))
    return CNames(model, {**interface, **shortened}, layer_labels(lowered.stages))


def _source_parts(planned: CompiledPlan, names: CNames) -> tuple[SourceParts, tuple[LayerInfo, ...]]:
    """Collects everything that the C code is printed from."""
    name, job, graph, lowered = names.model, planned.job, planned.graph, planned.lowered
    target, options, plan, library = job.target, job.options, planned.plan, planned.library
    arenas = arenas_of(plan.pool_bytes)
    by_pool = dict(zip(plan.pool_bytes, arenas, strict=True))
    states = state_infos(name, graph.states, plan, by_pool)
    external = options.weights_external
    collector = ConstantCollector(name, names.layers, external, job.defined)
    collector.add_stages(lowered.stages, planned.constant_regions)
    collector.add_outside_rows(rows_outside(lowered))
    collector.add_states(states)
    constants = collector.found
    inputs, outputs = _interface(graph, lowered, plan, names.tensors)
    maker = RunMaker(lowered, plan, library, constants, by_pool, names)
    dialect = dialect_of(target, options.dialect is CDialect.STRICT)
    if not dialect.has_attributes:
        from codegen.c.constants import require_standard

        require_standard(constants, target)
    layers = layer_infos(graph, lowered, maker.functions, planned.steps)
    run = maker.make()
    weights = None
    if external:
        from codegen.c.constants import layout_of

        weights = layout_of(constants)
    stream_rows = run.stream.rows if run.stream is not None else 0
    parts = SourceParts(
        name=name,
        model_hash=job.model.hash,
        made=made_by(f"Solder {VERSION}", job, any(is_tuned(stage.kernel) for stage in lowered.stages)),
        version=VERSION,
        needs=needs(library, target),
        macs=sum(layer.macs for layer in layers),
        stack_bytes_estimate=planned.stack_bytes,
        c_flags=_c_flags(dialect, options),
        dialect=dialect,
        inputs=inputs,
        outputs=outputs,
        states=states,
        window=graph.window,
        arenas=arenas,
        arena_align=_arena_align(lowered),
        library=library,
        run=run,
        constants=constants,
        weights=weights,
        observation=observation_of(graph, lowered, stream_rows) if options.observe else None,
    )
    return parts, layers


def _with_table(planned: CompiledPlan, parts: SourceParts) -> tuple[SourceParts, PackedTable]:
    """Returns sources whose kernels tables can call, and the model as such a table."""
    from codegen.tables.kernels import kernels_in_c
    from codegen.tables.packed import pack_table
    from codegen.tables.table import make_table

    library = parts.library
    table = make_table(planned.lowered, planned.plan.order, parts)
    functions = {kernel.function.name: kernel.function for kernel in library.kernels}
    callers = kernels_in_c(parts.name, table.kernels, functions)
    packed = PackedTable(
        pack_table(table, parts.name, parts.model_hash), {each.id: each.said for each in table.kernels}
    )
    return replace(parts, callers=callers), packed


def _external(planned: CompiledPlan, layout: WeightsLayout) -> ExternalWeights:
    """Returns the weights with the hash of the code that fits them, without the user's names and versions."""
    from codegen.c.constants import structure_of

    names = {tensor: f"t{number}" for number, tensor in enumerate(planned.lowered.tensors)}
    labels = [f"l{number}" for number in range(len(planned.lowered.stages))]
    parts, _ = _source_parts(planned, CNames(_NAMELESS, names, labels))
    nameless = replace(
        parts,
        model_hash="00" * 32,
        version="",
        inputs=tuple(replace(tensor, name=tensor.c_name) for tensor in parts.inputs),
        outputs=tuple(replace(tensor, name=tensor.c_name) for tensor in parts.outputs),
        states=[replace(state, name="") for state in parts.states],
    )
    return ExternalWeights(structure_of(emit_sources(nameless), _NAMELESS), layout.packed)


def _arena_align(lowered: Lowered) -> int:
    """Returns the alignment: 4 bytes, or more if the widest element or a kernel needs it."""
    elements = (tensor.type.dtype.bytes for tensor in lowered.tensors.values())
    return max((_ALIGN, *elements, *(stage.kernel.demand.align for stage in lowered.stages)))


def _interface(
    graph: Graph, lowered: Lowered, plan: Plan, names: Mapping[str, str]
) -> tuple[tuple[TensorInfo, ...], tuple[TensorInfo, ...]]:
    """Returns inputs and outputs with their offsets.

    Those outside the arena get consecutive offsets after the slowest arena. Callers that want them in one
    piece, such as the serial line, may put them there.
    """
    pools, align, found = list(plan.pool_bytes), _arena_align(lowered), []
    limits, indices = position_limits(graph), index_limits(graph)
    behind = plan.pool_bytes[pools[-1]]
    delivered = [lowered.delivered.get(value, value) for value in graph.outputs]
    for value, tensor in zip((*graph.inputs, *graph.outputs), (*graph.inputs, *delivered), strict=True):
        buffer, kind = plan.buffers[tensor], graph.types[value]
        place = buffer.offset, pools.index(buffer.pool)
        if lowered.tensors[tensor].kind is Kind.INNER or not buffer.row_bytes:
            place = -(-behind // align) * align, len(pools) - 1
            behind = place[0] + kind.bytes
        within, among = limits.get(value), indices.get(value)
        found.append(TensorInfo(value, kind, *place, names[tensor], limits=within, indices=among))
    return tuple(found[: len(graph.inputs)]), tuple(found[len(graph.inputs) :])
