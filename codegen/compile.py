"""The compiler as one readable list: file -> graph -> passes -> stages -> plan -> sources."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from aot.frontend.load import parse_model, read_model
from aot.ir.graph import Graph
from aot.passes.pipeline import run_pipeline
from aot.plan.model import Kind, Plan
from aot.plan.whole_bound import whole_tensor_bound
from aot.target import Optimize, Target
from codegen.arenas import arenas_of
from codegen.constant_places import constant_regions
from codegen.constants import collect_constants
from codegen.emit import SourceParts, emit_sources
from codegen.estimate import estimate_code_bytes, estimate_stack_bytes
from codegen.kernel_library import kernel_library
from codegen.kernels.kernel import Kernel
from codegen.kernels.knobs import NOT_TUNED, Point, point_text
from codegen.layers import RunPrinter
from codegen.model import CompiledModel, CompileOptions, LayerInfo, TensorInfo
from codegen.names import model_identifier, unique_identifiers
from codegen.outside_rows import rows_outside
from codegen.provenance import made_by, needs
from codegen.stages import Lowered
from codegen.states import state_infos
from codegen.version import VERSION
from codegen.ways import fit_best

_ALIGN = 4
_FLAGS = {"speed": ("-O2",), "size": ("-Os",), "ram": ("-O2",)}


def compile_model(
    path: Path,
    target: Target,
    options: CompileOptions,
    tuned: Mapping[str, Point] = NOT_TUNED,
    board: str = "",
) -> CompiledModel:
    """Compile a model file, which says of itself that it is for this board. Raises ModelError or FitError."""
    data = read_model(path)
    graph = parse_model(data, path.name, options.rounding.value, options.given)
    model_hash = hashlib.sha256(data).hexdigest()
    return compile_graph(graph, target, options, path.name, model_hash, model_name(path), tuned, board)


def compile_graph(
    graph: Graph,
    target: Target,
    options: CompileOptions,
    source_name: str,
    model_hash: str,
    name: str,
    tuned: Mapping[str, Point] = NOT_TUNED,
    board: str = "",
) -> CompiledModel:
    """Compile a graph as the importer made it; the passes run here."""
    bound = whole_tensor_bound(graph, options.io_apart)
    graph, fitted = fit_best(run_pipeline(graph), target, options, tuned)
    lowered, plan = fitted.lowered, replace(fitted.plan, whole_tensor_bound_bytes=bound)
    library = kernel_library(lowered.stages, options.optimize is Optimize.SIZE, target.constant_space)
    arenas = arenas_of(plan.pool_bytes)
    by_pool = dict(zip(plan.pool_bytes, arenas, strict=True))
    states = state_infos(name, graph.states, plan, by_pool)
    regions = constant_regions(lowered.stages, options.constants, target)
    constants = collect_constants(name, lowered.stages, states, regions, rows_outside(lowered))
    names = unique_identifiers(lowered.tensors, "tensor")
    inputs, outputs = _interface(graph, lowered, plan, names)
    printer = RunPrinter(lowered, plan, library.calls, constants, names, name, target.constant_space, by_pool)
    run = printer.print()
    is_tuned = any(_is_tuned(stage.kernel) for stage in lowered.stages)
    made_of = SourceParts(
        name=name,
        model_hash=model_hash,
        made=made_by(f"Solder {VERSION}", source_name, model_hash, target, board, options, is_tuned),
        needs=needs(library, target),
        space=target.constant_space,
        inputs=inputs,
        outputs=outputs,
        states=states,
        arenas=arenas,
        arena_align=_arena_align(lowered),
        library=library,
        run=run,
        constants=constants,
    )
    return CompiledModel(
        name=name,
        source_name=source_name,
        model_hash=model_hash,
        graph=graph,
        target=target,
        options=options,
        write_sources=partial(emit_sources, made_of),
        inputs=inputs,
        outputs=outputs,
        request=fitted.request,
        plan=plan,
        layers=_layers(graph, lowered, printer),
        constants_bytes=constants.bytes,
        constants_in=constants.bytes_in,
        code_bytes_estimate=estimate_code_bytes(library, run, plan),
        stack_bytes_estimate=estimate_stack_bytes(library, len(lowered.stages), target.pointer_bytes),
        c_flags=("-std=gnu99" if target.constant_space else "-std=c99", *_FLAGS[options.optimize.value]),
        parameters=constants.arrays,
    )


def model_name(path: Path) -> str:
    """The file's stem; its folder's name where the file is just called model.*."""
    stem = path.stem if path.stem != "model" else path.resolve().parent.name
    return model_identifier(stem)


def _arena_align(lowered: Lowered) -> int:
    """A word, or what the widest element takes."""
    return max((_ALIGN, *(t.type.dtype.bytes for t in lowered.tensors.values())))


def _interface(
    graph: Graph, lowered: Lowered, plan: Plan, names: Mapping[str, str]
) -> tuple[tuple[TensorInfo, ...], tuple[TensorInfo, ...]]:
    """Inputs and outputs. Those without a place in the arena follow one another behind the slowest: there
    whoever wants them whole, such as the serial line, may put them."""
    pools, align, found = list(plan.pool_bytes), _arena_align(lowered), []
    behind = plan.pool_bytes[pools[-1]]
    delivered = [lowered.delivered.get(value, value) for value in graph.outputs]
    for value, tensor in zip((*graph.inputs, *graph.outputs), (*graph.inputs, *delivered), strict=True):
        buffer, kind = plan.buffers[tensor], graph.types[value]
        place = buffer.offset, pools.index(buffer.pool)
        if lowered.tensors[tensor].kind is Kind.INNER or not buffer.row_bytes:
            place = -(-behind // align) * align, len(pools) - 1
            behind = place[0] + kind.bytes
        found.append(TensorInfo(value, names[tensor], kind, *place))
    return tuple(found[: len(graph.inputs)]), tuple(found[len(graph.inputs) :])


def _layers(graph: Graph, lowered: Lowered, printer: RunPrinter) -> tuple[LayerInfo, ...]:
    layers = []
    for index, stage in enumerate(lowered.stages):
        out = stage.result
        node = stage.node
        cost = node.op.cost(graph.input_types(node), graph.output_types(node)) if node is not None else None
        layers.append(
            LayerInfo(
                index=index,
                name=stage.name,
                op=stage.op,
                origin=node.origin if node is not None else "",
                shapes=printer.shapes(stage),
                kernel=stage.kernel.schedule,
                why=_why(stage.kernel),
                macs=cost.macs if cost is not None else 0,
                weight_bytes=sum(a.nbytes for a in stage.kernel.constants.values()),
                output=out.tensor,
                value=out.value,
                format=out.format,
                rows=out.image_rows,
            )
        )
    return tuple(layers)


def _is_tuned(kernel: Kernel) -> bool:
    return kernel.space is not None and kernel.point != kernel.space.default


def _why(kernel: Kernel) -> str:
    """With what a record may name: the task, and the knobs where they are not the default."""
    if kernel.space is None:
        return kernel.why
    tuned = f"tuned: {point_text(kernel.point)}; " if _is_tuned(kernel) else ""
    return f"{tuned}{kernel.why}; task {kernel.space.task}"
