"""An example accelerator: a DMA engine fetches weights from slow flash while the core computes.

The transfer of a layer's first tile starts as soon as the plan has memory for it, so that earlier layers run
meanwhile. Within the layer, one tile arrives while another is used. Its C code models the engine. Copy it for
a device that one call starts and another call waits for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from typing import Any

from aot.ir.types import DType
from aot.ops.conv2d import Conv2d
from aot.ops.requant import quant_of
from codegen.accelerators.accelerator import Accelerator, AcceleratorOption
from codegen.formats import RowFormat, whole
from codegen.kernels.conv_site import conv_tail
from codegen.kernels.dense import dense_tail
from codegen.kernels.kernel import (
    CFile,
    CFunction,
    CLibrary,
    Kernel,
    MemoryDemand,
    Site,
    Started,
    aligned,
)
from codegen.kernels.requantised import Requantised
from codegen.kernels.strategy import AS_TFLM_ROUNDS, Condition, RowRequests, Strategy, sums_of_32_bits
from codegen.loops.ir import Buffer, Proc, Role
from codegen.option_kinds import Size

_LINE_BYTES = 32  # of the data cache, as in chocolate_dma.h
_DTYPES = {"int8": DType.I8, "int32": DType.I32}  # of tables
_Tail = Callable[[Site], Requantised]


def _file(name: str) -> CFile:
    return CFile(name, files("extensions.chocolate").joinpath(name).read_text(encoding="utf-8"))


def _library() -> CLibrary:
    # The engine's header is one of the sources, because a model's C code does not include it.
    sources = tuple(map(_file, ("chocolate.c", "chocolate_dma.h", "chocolate_dma.c")))
    return CLibrary(_file("chocolate.h"), sources, code_bytes=1100)


def _is_bytes(site: Site) -> bool:
    return site.input(0).dtype is site.input(1).dtype is site.outputs[0].dtype is DType.I8


def _reads_constants_by_pointer(site: Site) -> bool:
    return not site.target.constant_space


def _requests(site: Site) -> RowRequests:
    return (whole(site.input(0)),)


def _lower(site: Site, tail: Requantised, tile_bytes: int) -> Kernel:
    w, x, y = site.constants[1], site.input(0), site.outputs[0]
    tables = {"w": w.reshape(-1), **tail.tables}
    filter_bytes = w.size // len(w)
    channels = min(max(tile_bytes // filter_bytes, 1), len(w))
    step = aligned(channels * filter_bytes, _LINE_BYTES)
    tiles = Buffer("tiles", DType.U8, 2 * step if channels < len(w) else step, Role.STATE)
    constants = {
        name: Buffer(name, _DTYPES[t.dtype.name], t.size, Role.CONSTANT) for name, t in tables.items()
    }
    pointers = (
        Buffer("x", DType.I8, x.elements, Role.ROWS),
        Buffer("y", DType.I8, y.elements, Role.OUTPUT),
        *constants.values(),
        tiles,
    )
    library = _library()
    start = CFunction("chocolate_start", library, (("bytes", channels * filter_bytes),), stack_bytes=60)
    numbers = (*_geometry(site, tail), ("tile_channels", channels), ("tile_step", step))
    return Kernel(
        strategy="chocolate",
        why="its weights arrive by DMA while other layers run",
        proc=Proc("chocolate_finish", pointers, ()),
        summary="",
        constants=tables,
        whole=True,
        calls=CFunction("chocolate_finish", library, numbers, stack_bytes=160),
        started=Started(Proc("chocolate_start", (constants["w"], tiles), ()), start),
    )


def _geometry(site: Site, tail: Requantised) -> tuple[tuple[str, int], ...]:
    """Returns the first members of the function's shape. A fully connected layer is a 1x1 convolution."""
    op, w, x, y = site.node.op, site.constants[1], site.input(0).shape, site.outputs[0].shape
    conv = op if isinstance(op, Conv2d) else Conv2d()
    x_sizes, y_sizes = (s[1:] if isinstance(op, Conv2d) else (1, *s) for s in (x, y))
    w_sizes = w.shape[1:3] if isinstance(op, Conv2d) else (1, 1)
    names = (
        *("x_rows", "x_columns", "depth", "y_rows", "y_columns", "channels", "w_rows", "w_columns"),
        *("stride_rows", "stride_columns", "dilation_rows", "dilation_columns", "top", "left"),
        *("x_zero", "y_zero", "y_least", "y_most"),
    )
    around = (conv.padding[0][0], conv.padding[1][0])
    requant = tail.requant
    stored = (quant_of(site.input(0)).zero_point, requant.zero_point, requant.low, requant.high)
    values = (*x_sizes, *y_sizes, *w_sizes, *conv.stride, *conv.dilation, *around, *stored)
    return tuple(zip(names, values, strict=True))


def _strategy(tail_of: _Tail, tile_bytes: int) -> Strategy:
    def lower(site: Site, _inputs: Sequence[RowFormat], _output: RowFormat) -> Kernel:
        return _lower(site, tail_of(site), tile_bytes)

    return Strategy(
        "chocolate",
        _requests,
        lower,
        fits=(
            Condition("pixels and weights of bytes", _is_bytes),
            AS_TFLM_ROUNDS,
            sums_of_32_bits(tail_of),
            Condition("cores that read constants through ordinary pointers", _reads_constants_by_pointer),
        ),
        demand=MemoryDemand(_LINE_BYTES),
    )


_TILE = AcceleratorOption("tile", Size(), 1024, "approximate bytes of weights in each transfer")
_SUMMARY = "int8 layers whose weights arrive from slow flash by DMA in parallel: an example to copy"


def _configured(settings: Mapping[str, Any]) -> Accelerator:
    tails = {"conv2d": conv_tail, "dense": dense_tail}
    strategies = {op: (_strategy(tail_of, settings["tile"]),) for op, tail_of in tails.items()}
    return Accelerator(_SUMMARY, strategies, options=(_TILE,), configured=_configured)


ACCELERATOR = _configured({"tile": _TILE.default})
