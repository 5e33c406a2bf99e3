"""The chapter on intervals: recomputes the ranges of sums by interval analysis of the scheduled loops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from aot.counted import counted
from aot.ir.graph import Graph
from codegen.kernels.requantised import folded_bias
from codegen.model import LayerInfo
from deploy.compiler.compile_model import Compiled
from deploy.proving.chapter import Cell, Finding, Standing, Table, not_run
from deploy.proving.intervals.layer import WalkedLayer, walked_layer
from deploy.proving.subject import Subject
from deploy.proving.sum_range import ProductSums, sum_range
from deploy.proving.sums import MOST_OFFSET_IN_PAIRS, MOVES, is_paired, of_its_own

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
