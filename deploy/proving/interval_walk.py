"""The chapter on intervals: recomputes the ranges of sums by interval analysis of the scheduled loops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from aot.ir.graph import Graph
from aot.ir.types import Array, DType
from aot.wording import counted
from codegen.kernels.kernel import Kernel
from codegen.kernels.requantised import folded_bias
from codegen.loops.ir import Buffer, Proc, Role
from codegen.model import LayerCode, LayerInfo
from deploy.compiler.compile_model import Compiled
from deploy.proving.chapter import Cell, Finding, Standing, Table, not_run
from deploy.proving.intervals.cells import Cells, Hull, Interval, Notes, limits_of
from deploy.proving.intervals.program import IntervalProgram
from deploy.proving.subject import Subject
from deploy.proving.sum_range import ProductSums, sum_range
from deploy.proving.sums import MOST_OFFSET_IN_PAIRS, MOVES, is_paired, of_its_own

# Analyzes all steps of a layer: inputs have any value of their type, constants are known.


@dataclass(frozen=True, slots=True)
class WalkedLayer:
    """The range of a layer's sums over all inputs."""

    least: int
    greatest: int
    spans: frozenset[int]  # spans of sums or partial sums
    bits: int  # width of the widest sums; 0: no integer sums
    leaves: tuple[str, ...]  # a sentence for each possible overflow

    @property
    def widest(self) -> int:
        return max(self.spans, default=0)


def walked_layer(code: LayerCode) -> WalkedLayer | None:
    """Analyzes a layer, or returns None if it calls a function without loops."""
    kernel = code.kernel
    if kernel.calls is not None or kernel.started is not None:
        return None
    notes, hulls = Notes(), list[Hull]()
    programs = {id(proc): IntervalProgram(proc, notes) for proc in kernel.procs}
    kept = dict(_kept(kernel, hulls))
    for proc, step in _calls(kernel, code.steps):
        given = [_cells(param, step, code, kept, hulls) for param in proc.params]
        programs[id(proc)].run(given)
    hulls += [hull for program in programs.values() for hull in program.hulls]
    sums = [hull for hull in hulls if hull.is_sum and hull.limits is not None]
    bits = max((_bits(hull.limits) for hull in sums), default=0)
    return WalkedLayer(
        min((hull.least for hull in sums), default=0),
        max((hull.greatest for hull in sums), default=0),
        frozenset().union(*(hull.spans for hull in sums)),
        bits,
        tuple(notes.sentences),
    )


def _bits(limits: Interval) -> int:
    return 0 if limits is None else (limits[1] - limits[0]).bit_length()


def _calls(kernel: Kernel, steps: int) -> Iterator[tuple[Proc, int]]:
    """Yields the procs in run order. Steps that differ only in their input rows occur once."""
    if kernel.accumulation is not None:
        yield kernel.accumulation.start, 0
        yield from ((kernel.proc, row) for row in range(kernel.accumulation.rows))
        yield kernel.accumulation.finish, 0
        return
    if kernel.carried is not None:
        yield kernel.carried.start, 0
    yield from ((kernel.proc, step) for step in range(steps if kernel.row_tables else 1))


def _kept(kernel: Kernel, hulls: list[Hull]) -> Iterator[tuple[str, Cells]]:
    """Yields state kept between steps: growing sums, or other state with arbitrary values."""
    for proc in kernel.procs:
        for param in proc.params:
            if param.role is Role.STATE:
                made = _anything(param, param.elements, hulls)
                made.hull.is_sum = kernel.accumulation is not None
                yield param.name, made


def _cells(param: Buffer, step: int, code: LayerCode, kept: Mapping[str, Cells], hulls: list[Hull]) -> Cells:
    kernel = code.kernel
    if param.role is Role.CONSTANT:
        return _constant(param, _part(kernel, param.name, step))
    if param.role is Role.STATE:
        if kernel.carried is not None:
            kept[param.name].at[:] = [limits_of(param.dtype)] * len(kept[param.name].at)
        return kept[param.name]
    if param.role is Role.ROWS:
        read = code.reads[param.name]
        return _all(param, read.elements, _with(limits_of(read.type.dtype), read.fill))
    return _anything(param, param.elements, hulls)


def _part(kernel: Kernel, name: str, step: int) -> Array:
    """Returns a constant, or the part of it that belongs to the step."""
    data, each, cycle = kernel.constants[name], kernel.row_tables.get(name), kernel.row_cycles.get(name)
    if each is None:
        return data.reshape(-1)
    return data.reshape(-1)[(step if cycle is None else cycle.of(step)) * each :]


def _with(limits: Interval, value: int) -> Interval:
    return None if limits is None else (min(limits[0], value), max(limits[1], value))


def _constant(param: Buffer, data: Array) -> Cells:
    if param.dtype is DType.F32:
        return _all(param, data.size, None)
    return Cells([(int(each), int(each)) for each in data.tolist()], Hull(param.name, limits_of(param.dtype)))


def _all(param: Buffer, elements: int, value: Interval) -> Cells:
    return Cells([value] * elements, Hull(param.name, limits_of(param.dtype)))


def _anything(param: Buffer, elements: int, hulls: list[Hull]) -> Cells:
    made = _all(param, elements, limits_of(param.dtype))
    hulls.append(made.hull)
    return made


_ARCHIVE = "an archive holds C and no loops: name the model file, with --board and the options of the archive"
_PAIR = 256  # factor by which sums grow in kernels that multiply two weights at once
_COLUMNS = (
    "layer",
    "op",
    "kernel",
    "bits",
    "least sum",
    "greatest sum",
    "widest sum of the walk",
    "widest sum of the chapter",
    "verdict",
)
_METHOD = (
    "The loops that are printed as C are run with an interval in place of each number: inputs have all "
    "values of their type, weights and biases are what the C has, and what nobody has written is anything. "
    "Each sum, product and store is held against its type in C. No theory of the layer is used: neither zero "
    "points nor signs of weights, nor the bound by which the compiler chose the kernel.",
    "The chapter on sums computes from the model's weights. What it says of a channel's sum, the greatest "
    "less the least, does not depend on where a kernel begins to count, so the walk must find it for each "
    "channel, and nothing wider. Where weights are multiplied in pairs, sums are 256 times as large, and "
    "intervals lose that two products have a factor in common: the walk must be as wide at least, and within "
    "the chapter's bound.",
    "Steps that differ in the rows that they read are walked once. Cells past a row's end are taken to hold "
    "values of the input's type. A function's result is found from all its arguments where these are at most "
    "1,024, and is anything of its type otherwise; what it returns is taken to fit where it is stored, which "
    "the loop interpreter refuses otherwise in the tests of each kernel.",
)


@dataclass(frozen=True)
class _Walked:
    cells: tuple[Cell, ...]
    exceptions: tuple[str, ...] = ()
    failure: str = ""


def examine_intervals(subject: Subject) -> Finding:
    """Analyzes all layers. Ranges that differ from the chapter on sums fail."""
    if subject.compiled is None:
        return not_run(_ARCHIVE)
    layers = [layer for layer in subject.artifact.facts.layers if layer.op not in MOVES]
    rows = [_of_layer(layer, subject.compiled, subject.artifact.graph) for layer in layers]
    compared = sum(1 for row in rows if row.cells[-2] != "")
    summary = (
        f"of {counted(len(rows), 'computing layer')} {sum(not row.exceptions for row in rows)} stay within "
        f"their types by the walk; {compared} have the range that the chapter on sums computes"
    )
    table = Table("Sums of each layer by the walk", _COLUMNS, tuple(row.cells for row in rows))
    exceptions = tuple(sentence for row in rows for sentence in row.exceptions)
    failures = [row.failure for row in rows if row.failure]
    if failures:
        return Finding(Standing.FAILED, "; ".join(failures), (), _METHOD, (table,))
    standing = Standing.EXCEPTIONS if exceptions else Standing.PROVEN
    return Finding(standing, summary, exceptions, _METHOD, (table,))


def _of_layer(layer: LayerInfo, compiled: Compiled, graph: Graph) -> _Walked:
    where = f"layer {layer.index} ({layer.origin or layer.name})"
    walked = walked_layer(compiled.model.code_of(layer.index))
    known: tuple[Cell, ...] = (layer.index, layer.op, layer.kernel)
    if walked is None:
        cells = (*known, "", "", "", "", "", Standing.EXCEPTIONS.value)
        return _Walked(cells, (f"{where} is computed by a function that has no loops here",))
    node = next((each for each in graph.nodes if each.name == layer.name), None)
    ranges = None if node is None or of_its_own(layer) else sum_range(graph, node)
    exceptions = tuple(_exceptions(where, walked, ranges))
    cells = (*known, walked.bits or "", *_ends(walked), "" if ranges is None else max(_spans(ranges)))
    if ranges is not None and walked.bits and not _agrees(layer, walked, ranges):
        sentence = f"{where}: the walk finds sums of {walked.least:,} to {walked.greatest:,}, and the widest "
        sentence += f"{walked.widest:,}, which is not the range of the chapter on sums"
        return _Walked((*cells, Standing.FAILED.value), failure=sentence)
    verdict = Standing.EXCEPTIONS if exceptions else Standing.PROVEN
    return _Walked((*cells, verdict.value), exceptions)


def _ends(walked: WalkedLayer) -> tuple[Cell, Cell, Cell]:
    return (walked.least, walked.greatest, walked.widest) if walked.bits else ("", "", "")


def _exceptions(where: str, walked: WalkedLayer, ranges: ProductSums | None) -> Iterator[str]:
    """Yields a sentence for everything the analysis cannot exclude or does not cover."""
    if ranges is not None and not walked.bits:
        yield f"{where}: a function adds up the sums, which wrap as the reference's do"
    if walked.leaves:
        more = f", and {len(walked.leaves) - 1} more" if len(walked.leaves) > 1 else ""
        yield f"{where}: the walk does not exclude that {walked.leaves[0]}{more}"


def _spans(ranges: ProductSums) -> frozenset[int]:
    """Returns the span of each channel's sums: greatest minus least."""
    return frozenset((ranges.greatest - ranges.least).tolist())


def _agrees(layer: LayerInfo, walked: WalkedLayer, ranges: ProductSums) -> bool:
    spans = _spans(ranges)
    if not is_paired(layer):
        return walked.widest == max(spans) and spans <= walked.spans
    start = folded_bias(ranges.weights, ranges.bias, ranges.zero_point)
    most = ranges.in_pairs(start) + MOST_OFFSET_IN_PAIRS
    return walked.widest >= _PAIR * max(spans) and max(-walked.least, walked.greatest) <= most
