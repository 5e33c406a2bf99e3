"""An example accelerator: calls one C function for each int8 convolution. It is the simplest one possible.

Its C code computes the result of the device. To copy it, change `accelerator.py`, which selects layers and
passes arguments, and the C files, which are the driver.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from aot.ir.types import DType
from aot.ops.requant import quant_of
from codegen.accelerators.accelerator import Accelerator
from codegen.formats import RowFormat, whole
from codegen.kernels.conv_site import conv_op, conv_tail
from codegen.kernels.kernel import CFile, CFunction, CLibrary, Kernel, Site
from codegen.kernels.strategy import AS_TFLM_ROUNDS, Condition, RowRequests, Strategy, sums_of_32_bits
from codegen.loops.ir import Buffer, Proc, Role

_NAME = "vanilla_conv2d"
_DTYPES = {"int8": DType.I8, "int32": DType.I32}  # of tables


def _file(name: str) -> CFile:
    return CFile(name, files("extensions.vanilla").joinpath(name).read_text(encoding="utf-8"))


def _library() -> CLibrary:
    return CLibrary(_file(f"{_NAME}.h"), (_file(f"{_NAME}.c"),), code_bytes=450)


def _is_bytes(site: Site) -> bool:
    return site.input(0).dtype is site.input(1).dtype is site.outputs[0].dtype is DType.I8


def _requests(site: Site) -> RowRequests:
    """Requests whole images without gaps, as the driver needs."""
    return (whole(site.input(0)),)


def _lower(site: Site, _inputs: Sequence[RowFormat], _output: RowFormat) -> Kernel:
    tail, w = conv_tail(site), site.constants[1]
    tables = {"w": w.reshape(-1), **tail.tables}
    pointers = (
        Buffer("x", DType.I8, site.input(0).elements, Role.ROWS),
        Buffer("y", DType.I8, site.outputs[0].elements, Role.OUTPUT),
        *(
            Buffer(name, _DTYPES[table.dtype.name], table.size, Role.CONSTANT)
            for name, table in tables.items()
        ),
    )
    return Kernel(
        strategy="vanilla",
        why="the function accepts int8 convolutions of any shape",
        proc=Proc(_NAME, pointers, ()),
        summary="",
        constants=tables,
        whole=True,
        calls=CFunction(_NAME, _library(), _shape(site), stack_bytes=120),
    )


def _shape(site: Site) -> tuple[tuple[str, int], ...]:
    """Returns the members of the function's shape, in the order of its header."""
    op, tail = conv_op(site), conv_tail(site)
    _, x_rows, x_columns, depth = site.input(0).shape
    _, y_rows, y_columns, channels = site.outputs[0].shape
    _, w_rows, w_columns, _ = site.constants[1].shape
    (top, _), (left, _) = op.padding
    return (
        ("x_rows", x_rows),
        ("x_columns", x_columns),
        ("depth", depth),
        ("y_rows", y_rows),
        ("y_columns", y_columns),
        ("channels", channels),
        ("w_rows", w_rows),
        ("w_columns", w_columns),
        ("stride_rows", op.stride[0]),
        ("stride_columns", op.stride[1]),
        ("dilation_rows", op.dilation[0]),
        ("dilation_columns", op.dilation[1]),
        ("top", top),
        ("left", left),
        ("x_zero", quant_of(site.input(0)).zero_point),
        ("y_zero", tail.requant.zero_point),
        ("y_least", tail.requant.low),
        ("y_most", tail.requant.high),
    )


_CONV2D = Strategy(
    "vanilla",
    _requests,
    _lower,
    fits=(
        Condition("pixels and weights of bytes", _is_bytes),
        AS_TFLM_ROUNDS,
        sums_of_32_bits(conv_tail),
    ),
)

ACCELERATOR = Accelerator(
    "int8 convolutions as calls of one C function: an example to copy", {"conv2d": (_CONV2D,)}
)
