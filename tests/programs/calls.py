"""A C function written by hand, the strategy that calls it, and a graph for them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from aot.extensions import ISAS, register, unregister
from aot.ir.graph import Graph, Node
from aot.ir.types import Array, DType, TensorType
from aot.ops.combine import Combination, Combine
from aot.target import Feature
from codegen.formats import RowFormat, RowRequest, whole
from codegen.isa.isa import Isa
from codegen.kernels.kernel import ANYWHERE, CFile, CFunction, CLibrary, Kernel, MemoryDemand, RowAccess, Site
from codegen.kernels.strategy import Strategy
from codegen.loops.ir import Buffer, Proc, Role

HEADER = """\
#include <stdint.h>

struct larger_shape {
    int32_t elements;
};

/* The larger of two, for each element. All memory begins at a multiple of 16. */
void larger(
    const int8_t *a, const int8_t *b, const int8_t *offset, int8_t *y, int8_t *scratch,
    const struct larger_shape *shape);
"""
SOURCE = """\
#include "larger.h"

static int is_misplaced(const void *pointer)
{
    return ((uintptr_t)pointer & (ALIGN - 1)) != 0;
}

void larger(
    const int8_t *a, const int8_t *b, const int8_t *offset, int8_t *y, int8_t *scratch,
    const struct larger_shape *shape)
{
    const int is_any = is_misplaced(a) || is_misplaced(b) || is_misplaced(y);
    if (is_any || is_misplaced(offset) || is_misplaced(scratch)) {
        return;
    }
    for (int32_t i = 0; i < shape->elements; ++i) {
        scratch[i] = a[i] > b[i] ? a[i] : b[i];
    }
    for (int32_t i = 0; i < shape->elements; ++i) {
        y[i] = (int8_t)(scratch[i] + offset[i]);
    }
}
"""
SHAPE = (1, 4, 5, 3)
ALIGNED = MemoryDemand(align=16)


def library(align: int, needs: frozenset[Feature]) -> CLibrary:
    source = CFile("larger.c", SOURCE.replace("ALIGN", str(align)))
    return CLibrary(CFile("larger.h", HEADER), (source,), 5_000, needs)


@dataclass(frozen=True)
class Larger:
    """Makes the strategy: a tensor at a time, or a row."""

    demand: MemoryDemand
    by_rows: bool = False
    needs: frozenset[Feature] = frozenset()

    def requests(self, site: Site) -> tuple[RowRequest, ...]:
        request = RowRequest() if self.by_rows else whole(site.outputs[0])
        return (request, request)

    def lower(self, site: Site, _inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
        elements = output.width * output.channels if self.by_rows else site.outputs[0].elements
        roles = (Role.ROWS, Role.ROWS, Role.CONSTANT, Role.OUTPUT, Role.SCRATCH)
        names = ("a", "b", "offset", "y", "scratch")
        params = (Buffer(n, DType.I8, elements, role) for n, role in zip(names, roles, strict=True))
        source = library(1 if self.demand == ANYWHERE else self.demand.align, self.needs)
        return Kernel(
            strategy="larger",
            why="a test wants it",
            proc=Proc("larger", tuple(params), ()),
            summary="",
            access=(RowAccess(stride=1, first=0, count=1),) * 2,
            constants={"offset": np.zeros(elements, np.int8)},
            whole=not self.by_rows,
            calls=CFunction("larger", source, (("elements", elements),), 3_000),
        )

    @property
    def strategy(self) -> Strategy:
        return Strategy("larger", self.requests, self.lower, demand=self.demand)


@contextmanager
def used_for(op: str, *strategies: Strategy) -> Iterator[None]:
    """Puts strategies before all others of the op."""
    register(ISAS, "calls", Isa("calls", frozenset(), {op: strategies}))
    try:
        yield
    finally:
        unregister(ISAS, "calls")


def maxima() -> Graph:
    """The largest of the inputs, over and over."""
    kind = TensorType(DType.I8, SHAPE)
    largest = Combine(Combination.MAXIMUM)
    nodes = (
        Node("first", largest, ("a", "b"), ("m",)),
        Node("second", largest, ("m", "a"), ("n",)),
        Node("third", largest, ("n", "m"), ("y",)),
    )
    return Graph("net", ("a", "b"), ("y",), nodes, dict.fromkeys(("a", "b", "m", "n", "y"), kind))


def random_inputs() -> dict[str, Array]:
    chance = np.random.default_rng(1)
    return {name: chance.integers(-128, 128, SHAPE).astype(np.int8) for name in "ab"}
