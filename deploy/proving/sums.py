"""The chapter on sums: each layer's sums of products fit into their integer type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from aot.ir.graph import Graph
from aot.ir.types import DType
from aot.ops.average_pool2d import AveragePool2d
from aot.ops.requant import INT32_MAX
from codegen.isa.plain.fitted_scale import MOST_OFFSET
from codegen.kernels.four_bit_weights import FOUR_BITS
from codegen.kernels.paired_weights import PAIRED
from codegen.kernels.requantised import folded_bias, largest_sum
from codegen.model import COPIES, LayerInfo
from deploy.proving.chapter import Cell, Finding, Standing, Table, not_run
from deploy.proving.subject import Subject
from deploy.proving.sum_range import ProductSums, sum_range

MOST_OFFSET_IN_PAIRS = 256 * MOST_OFFSET

# Ops that only move or compare values.
MOVES = (*COPIES, "max_pool2d", "reshape", "concat", "pad", "gather", "gather_nd", "rearrange", "select")
_COLUMNS = (
    "layer",
    "op",
    "kernel",
    "terms",
    "least sum",
    "greatest sum",
    "any part of it",
    "compiler's bound",
    "before the product",
    "in pairs",
    "of 2^31 - 1",
    "verdict",
)
_METHOD = (
    "Weights and biases are constants, and an input is an integer of known limits. The greatest sum of a "
    "channel takes the greatest input at each positive weight and the least at each negative one, and the "
    "least sum the other way round. Padding counts as the zero point, which lies between the limits. Layers "
    "that only move or compare values have no sum, and no row here.",
    "'Any part of it' bounds each intermediate value, whatever the order of the terms: kernels add several "
    "pixels and channels at once and begin with a bias that has the zero point in it. The bound is the sum "
    "of all products' magnitudes at the widest input, and the bias. To it comes, where scales are fitted to "
    f"channels, an offset of at most {MOST_OFFSET:,}.",
    "Three computations have to agree. The range is computed on inputs counted from the zero point. The "
    "compiler's own bound, by which it chose the kernel, is computed on inputs as they are stored. And "
    "inputs made by the weights' signs are multiplied and added in integers without a limit: they reach the "
    "ends exactly.",
    "'Before the product' is the greatest sum after the reference's shift to the left, where it has one. The "
    "product with the multiplier is made in 64 bits of two factors of 32, so it cannot overflow.",
    "'In pairs' is there for kernels that multiply by two weights, 256 * a + b, at once: their sums are 256 "
    "times the reference's. It bounds each intermediate value too, whichever weights are a pair, with 257 "
    "times all products' magnitudes and 256 times the bias and the offset.",
)


@dataclass(frozen=True)
class _Row:
    cells: tuple[Cell, ...]
    exception: str = ""
    failure: str = ""
    has_range: bool = True


def examine_sums(subject: Subject) -> Finding:
    """Computes the range of each layer's sums. Layers with other kinds of sums are exceptions."""
    graph, layers = subject.artifact.graph, subject.artifact.facts.layers
    rows = [row for layer in layers for row in _rows(graph, layer)]
    exceptions = tuple(row.exception for row in rows if row.exception)
    failures = [row.failure for row in rows if row.failure]
    proven = sum(1 for row in rows if not row.exception and not row.failure)
    if not any(row.has_range for row in rows) and not any(map(of_its_own, layers)):
        return not_run("no layer of the model adds products of integers with constant weights")
    summary = f"the sums of {proven} of {len(rows)} computing layers stay within 32 bits for every input"
    table = Table("Sums of each layer", _COLUMNS, tuple(row.cells for row in rows))
    verdict = Standing.EXCEPTIONS if exceptions else Standing.PROVEN
    if failures:
        verdict, exceptions, summary = Standing.FAILED, (), "; ".join(failures)
    return Finding(verdict, summary, exceptions, _METHOD, (table,))


def _rows(graph: Graph, layer: LayerInfo) -> Iterator[_Row]:
    if layer.op in MOVES:
        return
    node = next((each for each in graph.nodes if each.name == layer.name), None)
    ranges = None if node is None else sum_range(graph, node)
    if ranges is not None:
        yield _of_products(layer, ranges)
    elif node is not None and isinstance(node.op, AveragePool2d) and _is_int8(graph, node.inputs[0]):
        yield _of_pool(layer, node.op)
    else:
        yield _not_covered(layer)


def _of_products(layer: LayerInfo, found: ProductSums) -> _Row:
    where = f"layer {layer.index} ({layer.origin or layer.name})"
    start = folded_bias(found.weights, found.bias, found.zero_point)
    compilers = largest_sum(found.weights, start, -found.limits[0])
    least, greatest = int(found.least.min()), int(found.greatest.max())
    in_pairs = found.in_pairs(start) + MOST_OFFSET_IN_PAIRS if is_paired(layer) else 0
    cells = (
        layer.index,
        layer.op,
        layer.kernel,
        found.weights.shape[1],
        least,
        greatest,
        found.partial,
        compilers,
        found.shifted,
        in_pairs or "",
        f"{max(found.partial, compilers, in_pairs) / INT32_MAX:.2%}",
    )
    if not found.reached() or compilers < max(-least, greatest):
        return _Row(
            (*cells, Standing.FAILED.value), failure=f"{where}: the computations of the range disagree"
        )
    if what := of_its_own(layer):
        return _exception(cells, f"{where} {what}: the range is that of the reference's sums, not of its own")
    if max(found.partial, compilers, found.shifted) + MOST_OFFSET > INT32_MAX:
        return _exception(
            cells,
            f"{where}: sums reach {max(-least, greatest):,}, parts of them or what is shifted up to "
            f"{max(found.partial, compilers, found.shifted):,}; 32 bits are not proven to suffice",
        )
    if in_pairs > INT32_MAX:
        return _exception(
            cells,
            f"{where}: sums made with pairs of weights, 256 times as large, may reach {in_pairs:,}; "
            "32 bits are not proven to suffice",
        )
    if in_pairs and not found.fills_half_words():
        return _exception(
            cells, f"{where}: a pair of weights with -128 in it is not proven to fit into 16 bits"
        )
    return _Row((*cells, Standing.PROVEN.value))


def is_paired(layer: LayerInfo) -> bool:
    return layer.why.endswith(f" {PAIRED}")


def of_its_own(layer: LayerInfo) -> str:
    """Returns how a layer's summation differs from the reference's, or ""."""
    if layer.device:
        return f"is computed by {layer.device}"
    if "winograd" in layer.kernel:
        return "adds transformed pixels (Winograd)"
    if layer.why.endswith(f" {FOUR_BITS}"):
        return "multiplies by four weights at once"
    return ""


def _exception(cells: tuple[Cell, ...], sentence: str) -> _Row:
    return _Row((*cells, Standing.EXCEPTIONS.value), exception=sentence)


def _is_int8(graph: Graph, name: str | None) -> bool:
    return name is not None and graph.types[name].dtype is DType.I8


def _of_pool(layer: LayerInfo, op: AveragePool2d) -> _Row:
    """Returns the row for a sum of stored bytes, plus half their number for rounding."""
    terms = op.size[0] * op.size[1]
    most = terms * 128 + terms // 2
    ends = (-terms * 128, terms * 127, most, most, most)
    share = f"{most / INT32_MAX:.2%}"
    cells = (layer.index, layer.op, layer.kernel, terms, *ends, "", share)
    if most > INT32_MAX:
        return _exception(cells, f"layer {layer.index}: {terms:,} terms may reach {most:,}")
    return _Row((*cells, Standing.PROVEN.value))


def _not_covered(layer: LayerInfo) -> _Row:
    cells = (layer.index, layer.op, layer.kernel, "", "", "", "", "", "", "", "")
    sentence = (
        f"layer {layer.index} ({layer.origin or layer.name}): {layer.op} is not a sum of products with "
        "constant integer weights, so this chapter proves nothing about it"
    )
    return replace(_exception(cells, sentence), has_range=False)
