"""SVDF: merges the nodes that an SVDF operator was expanded into, to one call of the library.

The library's memory is ordered [unit][rank][step] and the graph's is [step][rank][unit], so the call
transposes it in both directions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from aot.ir.graph import Graph, Node
from aot.ir.types import Array, DType
from aot.ops.activation import Activation
from aot.ops.dense import Dense
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.rearrange import Rearrange
from aot.ops.requant import quant_of
from aot.ops.rounding import RequantRounding
from aot.passes.outcome import Miss
from aot.passes.partition.claims import NO_PATTERN, ClaimRule, Claims, claims_by_rules
from aot.passes.values import needed_elsewhere
from aot.patterns.pattern import Match, Pattern, absent, any_of, chain, constant, is_op, wildcard
from codegen.accelerators.accelerator import Regions, inner_site, region_of, whole_inputs
from codegen.formats import RowFormat
from codegen.kernels.dense import dense_tail
from codegen.kernels.depthwise_conv2d import tail_of
from codegen.kernels.kernel import CFunction, Kernel, RowAccess, Site
from codegen.kernels.requantised import Requantised
from codegen.kernels.strategy import AS_TFLM_ROUNDS, Condition, Strategy
from codegen.loops.ir import Buffer, Proc, Role
from extensions.cmsis_nn.library import cmsis_nn, library

_WORD_BYTES = 4
_DTYPES = {"int8": DType.I8, "int16": DType.I16, "int32": DType.I32}  # of tables


def _viewed(pattern: Pattern) -> Pattern:
    return chain(is_op("reshape"), pattern, least=0)


def _bias() -> Pattern:
    return any_of(constant(), absent())


_X, _MEMORY = wildcard("x"), wildcard("memory")
_FEATURE = is_op("dense")(_X, constant(), _bias())
_YOUNGER = is_op("rearrange")(_viewed(_MEMORY))
_KEPT = is_op("concat")(_YOUNGER, _viewed(_FEATURE))
_SEEN = _viewed(_KEPT)
_PATTERN = is_op("depthwise_conv2d")(_SEEN, constant(), _bias())


@dataclass(frozen=True)
class _Function:
    """The library's function for one width of the memory."""

    c_name: str
    function: str
    code_bytes: int


FUNCTIONS: Mapping[DType, _Function] = {
    DType.I8: _Function("cmsis_nn_svdf", "arm_svdf_s8", 5_400),
    DType.I16: _Function("cmsis_nn_svdf_wide", "arm_svdf_state_s16_s8", 2_800),
}


@dataclass(frozen=True)
class _Parts:
    """The nodes of one SVDF that the call needs."""

    feature: Node
    younger: Node
    times: Node

    @classmethod
    def of(cls, nodes: Sequence[Node]) -> _Parts:
        by_op = {node.op.name: node for node in nodes}
        return cls(*(by_op[name] for name in ("dense", "rearrange", "depthwise_conv2d")))


def _refusal(graph: Graph, found: Match) -> Miss | None:
    parts = _Parts.of(found.nodes)
    x, memory, seen = found[_X], found[_MEMORY], found[_SEEN]
    widths = {graph.types[each].dtype for each in (memory, seen, parts.feature.outputs[0])}
    if graph.types[x].dtype is not DType.I8 or graph.types[parts.times.outputs[0]].dtype is not DType.I8:
        return Miss("only for inputs and results of bytes")
    if len(widths) > 1 or not widths <= FUNCTIONS.keys():
        return Miss("only for a memory of 8 or 16 bits")
    if memory not in {state.name for state in graph.states} or not _is_shifted(graph, parts, memory, seen):
        return Miss("only for a memory that drops its oldest step")
    inner = (
        value for node in found.nodes for value in node.outputs if value != seen and node is not parts.times
    )
    elsewhere = (needed_elsewhere(graph, value) for value in inner)
    return next((miss for miss in elsewhere if miss is not None), None) or _misfit(graph, parts, widths.pop())


def _is_shifted(graph: Graph, parts: _Parts, memory: str, seen: str) -> bool:
    """Returns True if the memory is [1, rows, 1, units] and each step adds as many rows as the rank."""
    _, rows, _, units = graph.types[seen].shape
    new = graph.types[parts.feature.outputs[0]].elements
    op, kept = parts.younger.op_as(Rearrange), rows * units - new
    return (
        graph.types[memory].shape == graph.types[seen].shape
        and (op.sizes, op.strides, op.offset) == ((kept,), (1,), new)
        and graph.types[str(parts.times.inputs[1])].shape == (rows, 1, units)
    )


def _misfit(graph: Graph, parts: _Parts, width: DType) -> Miss | None:
    feature, times = parts.feature.op, parts.times.op
    assert isinstance(feature, Dense)
    assert isinstance(times, DepthwiseConv2d)
    weights, filters = (graph.types[str(node.inputs[1])] for node in (parts.feature, parts.times))
    bias = parts.feature.inputs[2] if len(parts.feature.inputs) > 2 else None
    if (weights.dtype, filters.dtype) != (DType.I8, width):
        return Miss("only for features of bytes, and a filter as wide as the memory")
    if any(len(quant_of(each).scales) > 1 for each in (weights, filters)):
        return Miss("only for weights with a single scale")
    if bias is not None and np.any(graph.constants[bias]):
        return Miss("only for features without a bias (removed channels leave one)")
    if quant_of(graph.types[parts.feature.outputs[0]]).zero_point != 0:
        return Miss("only for a memory whose zero point is 0")
    if any(op.activation is not Activation.NONE for op in (feature, times)):
        return Miss("only for layers without an activation")
    if any(op.rounding is not RequantRounding.DOUBLE for op in (feature, times)):
        return Miss(f"only for {AS_TFLM_ROUNDS.description}")
    return None


def _claims(owner: str, graph: Graph) -> Claims:
    found = claims_by_rules(owner, (ClaimRule(_PATTERN, _refusal),), graph, merges=False)
    return replace(found, left_alone={k: why for k, why in found.left_alone.items() if why != NO_PATTERN})


def _inner(site: Site) -> tuple[Site, Site]:
    parts = _Parts.of(region_of(site).graph.nodes)
    return inner_site(site, parts.feature), inner_site(site, parts.times)


def _is_wide(width: DType, site: Site) -> bool:
    return _inner(site)[0].outputs[0].dtype is width


def _has_short_sums(site: Site) -> bool:
    """Returns True if the features' sums fit into 32 bits.

    The filters' sums may wrap, as in the reference: the library is compiled so that they do.
    """
    feature, _ = _inner(site)
    return not dense_tail(feature).sums_wrap


def _is_in_order(site: Site) -> bool:
    """Returns True if the region's inputs are x and the memory, and its outputs the memory and the result."""
    graph = region_of(site).graph
    parts = _Parts.of(graph.nodes)
    x, y = parts.feature.inputs[0], parts.times.outputs[0]
    return (graph.inputs[0], graph.outputs[-1]) == (x, y) and len(graph.inputs) == len(graph.outputs) == 2


def _scaled(name: str, tail: Requantised) -> tuple[tuple[str, int], ...]:
    return ((f"{name}_mult", int(tail.scales["mult"][0])), (f"{name}_shift", -int(tail.scales["right"][0])))


def _lower(
    called: _Function, folder: str, site: Site, _inputs: Sequence[RowFormat], _output: RowFormat
) -> Kernel:
    feature, times = _inner(site)
    kept, made = dense_tail(feature), tail_of(times)
    rows, _, units = times.constants[1].shape
    rank = feature.outputs[0].elements // units
    steps, zero = rows // rank, quant_of(feature.input(0)).zero_point
    tables = _tables(feature, times, (steps, rank, units))
    width = feature.outputs[0].dtype
    scratch = -(-steps * rank * units * width.numpy.itemsize // _WORD_BYTES) + rank * units + units
    pointers = (
        Buffer("x", DType.I8, feature.input(0).elements, Role.ROWS),
        Buffer("memory", width, rows * units, Role.ROWS),
        Buffer("y", width, rows * units, Role.OUTPUT),
        Buffer("y1", DType.I8, units, Role.OUTPUT),
        *(Buffer(name, _DTYPES[t.dtype.name], t.size, Role.CONSTANT) for name, t in tables.items()),
        Buffer("scratch", DType.I32, scratch, Role.SCRATCH),
    )
    numbers = (
        *(("depth", feature.input(0).elements), ("steps", steps), ("rank", rank), ("units", units)),
        *(("x_zero", zero), ("y_zero", made.requant.zero_point)),
        *_scaled("feature", kept),
        *_scaled("y", made),
        *(("kept_least", kept.requant.low), ("kept_most", kept.requant.high)),
        *(("y_least", made.requant.low), ("y_most", made.requant.high)),
    )
    return Kernel(
        strategy="cmsis-nn",
        why=f"{called.function} of CMSIS-NN {cmsis_nn(folder).revision}",
        proc=Proc(called.c_name, pointers, ()),
        summary="",
        access=(RowAccess(stride=1, first=0, count=1),) * 2,
        constants=tables,
        whole=True,
        calls=CFunction(
            called.c_name,
            library(folder, called.c_name, called.function, called.code_bytes),
            numbers,
            stack_bytes=696,
        ),
    )


def _tables(feature: Site, times: Site, sizes: tuple[int, int, int]) -> Mapping[str, Array]:
    """Returns the weights by filter, unit by unit. With Helium, the features' sums start from `sums`."""
    steps, rank, units = sizes
    depth, zero = feature.input(0).elements, quant_of(feature.input(0)).zero_point
    w = feature.constants[1].reshape(rank, units, depth).transpose(1, 0, 2)
    filters = times.constants[1].reshape(steps, rank, units).transpose(2, 1, 0)
    return {
        "w": w.reshape(-1),
        "filters": filters.reshape(-1),
        "sums": (-zero * w.astype(np.int64).sum(axis=2)).astype(np.int32).reshape(-1),
        "bias": times.constants.get(2, np.zeros(units, np.int32)).astype(np.int32),
    }


def svdf_regions(folder: str) -> Regions:
    """Returns the regions. Each SVDF is a region."""
    strategies = (
        Strategy(
            "cmsis-nn",
            whole_inputs,
            partial(_lower, called, folder),
            fits=(
                Condition(f"a memory of {8 * width.numpy.itemsize} bits", partial(_is_wide, width)),
                Condition("sums of 32 bits", _has_short_sums),
                Condition("regions with an input and a memory, which return both", _is_in_order),
            ),
        )
        for width, called in FUNCTIONS.items()
    )
    return Regions(_claims, tuple(strategies))
