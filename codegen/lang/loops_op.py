"""The op of a user's proc. The proc becomes a model of one layer, so that all tools accept it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import accumulate
from types import SimpleNamespace
from typing import ClassVar

import numpy as np

from aot.errors import InputError
from aot.extensions import OPS, register, unregister
from aot.ir.types import Array, DType, TensorType
from aot.ops.op import Arrays, Cost, Op, Types, required
from codegen.formats import RowFormat
from codegen.kernels.kernel import Kernel, RowAccess, Site
from codegen.kernels.row_nests import flat_requests
from codegen.kernels.strategy import OpKernel, RowRequests, Strategy
from codegen.loops.affine import variable
from codegen.loops.interpret import run_proc
from codegen.loops.ir import (
    Accumulate,
    Binary,
    Buffer,
    BufferPlace,
    Declare,
    For,
    Instruction,
    Invoke,
    Proc,
    Role,
    Stmt,
    map_places,
    substitute,
    walk,
)
from codegen.loops.pack import Packing
from codegen.loops.text import Named, named_in, print_proc

_NAME = "loops"
_GIVEN = (Role.INPUT, Role.ROWS, Role.CONSTANT)
_RESULT = "y"  # the result's name in every kernel


@dataclass(frozen=True)
class UserKernel:
    """A proc as written, and as scheduled."""

    meaning: Proc
    scheduled: Proc
    packings: Mapping[str, Packing]  # of constants, by name

    @property
    def given(self) -> tuple[str, ...]:
        """Returns the parameters that are inputs or constants."""
        return tuple(p.name for p in self.meaning.params if p.role in _GIVEN)

    @property
    def results(self) -> tuple[Buffer, ...]:
        """Returns the outputs. A kernel stores them one after the other, as one result."""
        return tuple(p for p in self.meaning.params if p.role is Role.OUTPUT)


# The kernels built by this process. The text of a graph refers to them by name and cannot hold functions.
_BUILT: dict[str, UserKernel] = {}


@dataclass(frozen=True, slots=True)
class UserLoops(Op):
    """The inputs are the proc's inputs and constants, in the order of its parameters."""

    kernel: str  # a key of _BUILT
    shape: tuple[int, ...]  # of the result

    name: ClassVar[str] = _NAME

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        made = _BUILT[self.kernel]
        return ((made.results[0].dtype.value, self.shape),)

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        made, (out,) = _BUILT[self.kernel], outputs
        given = dict(zip(made.given, (required(array).reshape(-1) for array in arrays), strict=True))
        buffers = {
            p.name: given[p.name] if p.name in given else _empty(p.elements, p.dtype)
            for p in made.meaning.params
        }
        try:
            run_proc(made.meaning, {name: [array] for name, array in buffers.items()})
        except (OverflowError, IndexError) as error:
            raise InputError(
                f"{made.meaning.name} is not defined for these inputs: {error}",
                hint="a wider type, or clamp(value, low, high)",
            ) from None
        return (np.concatenate([buffers[each.name] for each in made.results]).reshape(out.shape),)

    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        return Cost(macs=_products(_BUILT[self.kernel].meaning.body))


@contextmanager
def compilable() -> Iterator[None]:
    """Adds the op to the tables of ops and kernels while a user's kernel is compiled."""
    register(OPS, _NAME, SimpleNamespace(OP=UserLoops, KERNEL=KERNEL))
    try:
        yield
    finally:
        unregister(OPS, _NAME)


def op_of(kernel: UserKernel, shape: Sequence[int]) -> UserLoops:
    """Returns the op and registers the kernel for this process."""
    text = [print_proc(proc) for proc in (kernel.meaning, kernel.scheduled)]
    text += [each.definition for each in _named(kernel)] + [repr(kernel.packings)]
    key = hashlib.sha256("".join(text).encode()).hexdigest()[:16]
    _BUILT[key] = kernel
    return UserLoops(key, tuple(shape))


def _named(kernel: UserKernel) -> list[Named]:
    return [*named_in(kernel.meaning).values(), *named_in(kernel.scheduled).values()]


def _products(body: Sequence[Stmt]) -> int:
    """Counts the accumulations of products."""
    count = 0
    for stmt in body:
        match stmt:
            case For(_, extent, inner):
                count += extent * _products(inner)
            case Accumulate(_, Binary("*")):
                count += 1
            case Invoke(Instruction(body=inner)):
                count += _products(inner)
    return count


def _empty(elements: int, dtype: DType) -> Array:
    return np.zeros(elements, dtype.numpy)


def _requests(site: Site) -> RowRequests:
    return flat_requests(site)


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    op = site.op_as(UserLoops)
    made = _BUILT[op.kernel]
    constants = {made.given[position]: array for position, array in site.constants.items()}
    stored = {
        name: made.packings[name].apply(array) if name in made.packings else array.reshape(-1)
        for name, array in constants.items()
    }
    moving = len(made.given) - len(constants)
    return Kernel(
        strategy="own",
        why="scheduled by hand" if made.scheduled != made.meaning else "unscheduled",
        proc=over_rows(made.scheduled),
        summary=f"All of {made.meaning.name}: {math.prod(op.shape)} elements.",
        access=(RowAccess(stride=1, first=0, count=1),) * moving,
        constants=stored,
        whole=True,
    )


def over_rows(proc: Proc) -> Proc:
    """Returns the proc with a kernel's buffers: each input has one row, and y holds the results."""
    buffers = [*proc.params, *(stmt.buffer for stmt in walk(proc.body) if isinstance(stmt, Declare))]
    loops = {stmt.var for stmt in walk(proc.body) if isinstance(stmt, For)}
    free = _free_name({*loops, *(buffer.name for buffer in buffers)})
    results = [param for param in proc.params if param.role is Role.OUTPUT]
    ends = accumulate((result.elements for result in results), initial=0)
    first = dict(zip(results, ends, strict=False))
    renamed = {buffer: _as_in_kernels(buffer, free) for buffer in buffers}
    elements = sum(result.elements for result in results)
    renamed |= {result: replace(renamed[result], elements=elements) for result in results}

    def moved(place: BufferPlace) -> BufferPlace:
        return replace(place, buffer=renamed[place.buffer], index=place.index + first.get(place.buffer, 0))

    def changed(stmt: Stmt) -> Stmt:
        match stmt:
            case For(var, _, body) if var == _RESULT:
                inside = (substitute(each, {var: variable(free)}) for each in body)
                return replace(stmt, var=free, body=tuple(map(changed, inside)))
            case For(_, _, body):
                return replace(stmt, body=tuple(map(changed, body)))
            case Declare(buffer):
                return Declare(renamed[buffer])
        return map_places(stmt, moved)

    return Proc(
        f"{proc.name}_kernel",  # unique in the file
        tuple(dict.fromkeys(renamed[p] for p in proc.params)),
        tuple(map(changed, proc.body)),
    )


def _free_name(taken: set[str]) -> str:
    """Returns a free name for a buffer whose name the result needs."""
    name = f"{_RESULT}_"
    while name in taken:
        name += "_"
    return name


def _as_in_kernels(buffer: Buffer, free: str) -> Buffer:
    if buffer.role is Role.OUTPUT:
        return replace(buffer, name=_RESULT)
    if buffer.role is Role.INPUT:
        buffer = replace(buffer, role=Role.ROWS)
    return replace(buffer, name=free) if buffer.name == _RESULT else buffer


KERNEL = OpKernel((Strategy("own", _requests, _lower),), frozenset(DType))
