"""larger: maxima of two tensors by a function of a library's, in whole tensors."""

from __future__ import annotations

from collections.abc import Sequence

from aot.ir.types import DType
from aot.ops.combine import Combination, Combine
from codegen.accelerators.accelerator import Accelerator
from codegen.formats import RowFormat, whole
from codegen.kernels.kernel import CFile, CFunction, CLibrary, Kernel, RowAccess, Site
from codegen.kernels.strategy import Condition, RowRequests, Strategy
from codegen.loops.ir import Buffer, Proc, Role

_DECLARED = "void larger(const int8_t *a, const int8_t *b, int8_t *y, const struct larger_shape *shape)"
_HEADER = f"#include <stdint.h>\n\nstruct larger_shape {{\n    int32_t elements;\n}};\n\n{_DECLARED};\n"
_SOURCE = f"""\
#include "larger.h"

{_DECLARED}
{{
    for (int32_t i = 0; i < shape->elements; ++i) {{
        y[i] = a[i] > b[i] ? a[i] : b[i];
    }}
}}
"""
_LIBRARY = CLibrary(CFile("larger.h", _HEADER), (CFile("larger.c", _SOURCE),), code_bytes=60)


def _is_maximum(site: Site) -> bool:
    op, types = site.node.op, (site.input(0), site.input(1))
    assert isinstance(op, Combine)
    return op.by is Combination.MAXIMUM and all(
        x.dtype is DType.I8 and x.shape == site.outputs[0].shape for x in types
    )


def _requests(site: Site) -> RowRequests:
    return (whole(site.outputs[0]),) * 2


def _lower(site: Site, _inputs: Sequence[RowFormat], _output: RowFormat) -> Kernel:
    count = site.outputs[0].elements
    pointers = (
        *(Buffer(name, DType.I8, count, Role.ROWS) for name in "ab"),
        Buffer("y", DType.I8, count, Role.OUTPUT),
    )
    return Kernel(
        strategy="larger",
        why="the library has it",
        proc=Proc("larger", pointers, ()),
        summary="",
        access=(RowAccess(stride=1, first=0, count=1),) * 2,
        whole=True,
        calls=CFunction("larger", _LIBRARY, (("elements", count),)),
    )


_STRATEGY = Strategy("larger", _requests, _lower, fits=(Condition("maxima of bytes", _is_maximum),))
ACCELERATOR = Accelerator("maxima of two tensors", {"combine": (_STRATEGY,)})
