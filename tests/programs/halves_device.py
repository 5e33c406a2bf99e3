"""halves: a device that adds, one half of the sums as it is started, the other as it is waited for."""

from collections.abc import Sequence

from aot.ir.types import DType
from codegen.accelerators.accelerator import Accelerator
from codegen.formats import RowFormat, whole
from codegen.kernels.kernel import CFile, CFunction, CLibrary, Kernel, RowAccess, Site, Started
from codegen.kernels.strategy import Condition, RowRequests, Strategy
from codegen.loops.ir import Buffer, Proc, Role

_HEADER = """#ifndef HALVES_H
#define HALVES_H
#include <stdint.h>
struct halves_start_shape {
    int32_t elements;
};
struct halves_wait_shape {
    int32_t elements;
};
void halves_start(const float *a, const float *b, float *y, const struct halves_start_shape *s);
void halves_wait(const float *a, const float *b, float *y, const struct halves_wait_shape *s);
#endif
"""
_SOURCE = """#include "halves.h"

static void add(const float *a, const float *b, float *y, int32_t first, int32_t stop)
{
    for (int32_t i = first; i < stop; ++i) {
        y[i] = a[i] + b[i];
    }
}

void halves_start(const float *a, const float *b, float *y, const struct halves_start_shape *s)
{
    add(a, b, y, 0, s->elements / 2);
}

void halves_wait(const float *a, const float *b, float *y, const struct halves_wait_shape *s)
{
    add(a, b, y, s->elements / 2, s->elements);
}
"""
_LIBRARY = CLibrary(CFile("halves.h", _HEADER), (CFile("halves.c", _SOURCE),))


def _is_plain(site: Site) -> bool:
    types = {tensor for tensor in (*site.inputs, *site.outputs) if tensor is not None}
    return len(types) == 1 and site.input(0).dtype is DType.F32 and not site.constants


def _requests(site: Site) -> RowRequests:
    return (whole(site.input(0)), whole(site.input(1)))


def _lower(site: Site, _inputs: Sequence[RowFormat], _output: RowFormat) -> Kernel:
    elements = site.outputs[0].elements
    inputs = [Buffer(name, DType.F32, elements, Role.ROWS) for name in ("a", "b")]
    params = (*inputs, Buffer("y", DType.F32, elements, Role.OUTPUT))
    start, wait = (
        CFunction(f"halves_{what}", _LIBRARY, (("elements", elements),)) for what in ("start", "wait")
    )
    return Kernel(
        strategy="halves",
        why="the core has other things to do",
        proc=Proc("halves_wait", params, ()),
        summary="",
        access=(RowAccess(stride=1, first=0, count=1),) * 2,
        whole=True,
        calls=wait,
        started=Started(Proc("halves_start", params, ()), start),
    )


_FITS = (Condition("sums of two tensors of floats", _is_plain),)
HALVES = Accelerator("sums", {"add": (Strategy("halves", _requests, _lower, fits=_FITS),)})
