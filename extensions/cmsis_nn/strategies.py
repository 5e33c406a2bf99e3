"""A call of a library function, and the strategy that uses it as a kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from aot.ir.types import Array, DType
from codegen.formats import RowFormat, whole
from codegen.kernels.kernel import CFunction, Kernel, RowAccess, Site
from codegen.kernels.strategy import Condition, RowRequests, Strategy
from codegen.loops.ir import Buffer, Proc, Role
from extensions.cmsis_nn.library import cmsis_nn, library

NAME = "cmsis-nn"
_DTYPES = {"int8": DType.I8, "int16": DType.I16, "int32": DType.I32, "int64": DType.I64}  # of tables


@dataclass(frozen=True)
class Arguments:
    """The arguments of our C function besides the tensors, in the order of its header."""

    numbers: tuple[tuple[str, int], ...]  # members of its shape
    tables: Mapping[str, Array] = field(default_factory=dict)
    scratch_bytes: int | None = None  # None if it has no such parameter
    tells_scratch: bool = True  # passes its size as the last number of the shape


@dataclass(frozen=True)
class LibraryCall:
    c_name: str  # of our function, and of its two files
    function: str  # of the library
    # Code of both functions and their callees: the largest of gcc 12.2 for Cortex-M4 and -M55, -Os to -O3.
    code_bytes: int
    stack_bytes: int
    arguments: Callable[[Site], Arguments]
    fits: tuple[Condition[Site], ...]
    names: tuple[str, ...] = ("x",)  # of the tensors that are passed


def is_bytes(site: Site) -> bool:
    return site.input(0).dtype is site.outputs[0].dtype is DType.I8


def is_wide(site: Site) -> bool:
    return site.input(0).dtype is site.outputs[0].dtype is DType.I16


BYTES = Condition("inputs and results of bytes", is_bytes)
WIDE = Condition("inputs and results of 16 bits", is_wide)


def strategy(call: LibraryCall, folder: str) -> Strategy:
    """Returns a strategy that passes whole tensors to the library in the folder."""

    def lower(site: Site, _inputs: Sequence[RowFormat], _output: RowFormat) -> Kernel:
        return _lower(call, folder, site)

    return Strategy(NAME, _requests, lower, fits=call.fits)


def _computed(site: Site) -> list[int]:
    """Returns the positions of inputs that are not constants."""
    return [i for i, tensor in enumerate(site.inputs) if tensor is not None and i not in site.constants]


def _requests(site: Site) -> RowRequests:
    return tuple(whole(site.input(i)) for i in _computed(site))


def _lower(call: LibraryCall, folder: str, site: Site) -> Kernel:
    given, computed = call.arguments(site), _computed(site)
    y = site.outputs[0]
    pointers = [
        *(
            Buffer(name, site.input(i).dtype, site.input(i).elements, Role.ROWS)
            for name, i in zip(call.names, computed, strict=True)
        ),
        Buffer("y", y.dtype, y.elements, Role.OUTPUT),
        *(Buffer(name, _DTYPES[t.dtype.name], t.size, Role.CONSTANT) for name, t in given.tables.items()),
    ]
    numbers = given.numbers
    if given.scratch_bytes is not None:
        # In 32-bit units, because the library keeps sums there, and at least one, so that the buffer is not
        # empty.
        words = max(-(-given.scratch_bytes // 4), 1)
        pointers.append(Buffer("scratch", DType.I32, words, Role.SCRATCH))
        if given.tells_scratch:
            numbers = (*numbers, ("scratch_bytes", 4 * words))
    return Kernel(
        strategy=NAME,
        why=f"{call.function} of CMSIS-NN {cmsis_nn(folder).revision}",
        proc=Proc(call.c_name, tuple(pointers), ()),
        summary="",
        access=(RowAccess(stride=1, first=0, count=1),) * len(computed),
        constants=given.tables,
        whole=True,
        calls=CFunction(
            call.c_name,
            library(folder, call.c_name, call.function, call.code_bytes),
            numbers,
            stack_bytes=call.stack_bytes,
        ),
    )
