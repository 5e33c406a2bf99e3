"""A kernel's identity in tables: a hash of its C code and of its accesses through each pointer.

Sizes are part of the code, so firmware knows the range of its accesses; no value in a table can change it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from codegen.c.kernel_library import SharedKernel, collect_helpers
from codegen.c.lift import with_numbers
from codegen.c.printer import Printer, shape_struct
from codegen.c.tree import ArrayLength, FunctionDefinition
from codegen.c.tree_walk import Node, changed, helpers_of
from codegen.kernels.kernel import WORD
from codegen.loops.axes import Extents, least, most
from codegen.loops.ir import Accumulate, Element, Expr, For, Proc, Stmt, Store, parts_of
from codegen.loops.ranges import range_of

_DIGITS = 16


@dataclass(frozen=True, slots=True)
class PointerLimits:
    """The memory that a kernel accesses through a pointer, or through each of several."""

    count: int
    bytes: int
    align: int
    is_written: bool


@dataclass(frozen=True)
class TableKernel:
    """A kernel that a table runs."""

    id: str  # hexadecimal
    function: str  # in the model's C code
    shape: Mapping[str, int]  # the numbers that select one of the layers that share the function
    pointers: tuple[PointerLimits, ...]
    said: str  # for users: its layer

    @property
    def count(self) -> int:
        """Returns the number of all its pointers."""
        return sum(each.count for each in self.pointers)


def kernel_id(
    called: SharedKernel,
    functions: Mapping[str, FunctionDefinition],
    pointers: Sequence[PointerLimits],
    printer: Printer,
) -> str:
    """Returns a hash that is equal for equal computations, in any model and in any shared function."""
    digest = hashlib.sha256()
    own = _canonical(with_numbers(functions[called.name], called.numbers))
    texts = collect_helpers(helpers_of(own)).unnamed_texts()
    for text in (printer.function(own), *texts, *map(repr, pointers)):
        digest.update(text.encode() + b"\0")
    return digest.hexdigest()[:_DIGITS]


def _canonical(function: FunctionDefinition) -> FunctionDefinition:
    def change(node: Node) -> Node | None:
        return (
            ArrayLength(1) if isinstance(node, ArrayLength) else None
        )  # a shared function may have a longer array

    own: FunctionDefinition = changed(replace(function, name="kernel", comment=""), change)
    return own


def alignment(offsets: Sequence[int], least_needed: int) -> int:
    """Returns the common alignment of all offsets of a pointer, as far as a kernel may rely on it."""
    return min([max(WORD, least_needed), *(offset & -offset for offset in offsets if offset)])


def reads_anywhere(proc: Proc) -> bool:
    """Returns True if a computed index selects the element that is read, and may be out of range."""
    return any(_leaves(expr, extents) for expr, extents in _values(proc.body, {}))


def _values(body: Sequence[Stmt], extents: Extents) -> Iterator[tuple[Expr, Extents]]:
    for stmt in body:
        match stmt:
            case For():
                yield from _values(stmt.body, {**extents, stmt.var: stmt.extent})
            case Store(_, value) | Accumulate(_, value):
                yield value, extents


def _leaves(expr: Expr, extents: Extents) -> bool:
    if isinstance(expr, Element):
        number, place = range_of(expr.number, extents), expr.place
        is_known = number is not None and place.index.variables <= extents.keys()
        if not is_known or number is None:
            return True
        low, high = least(place.index, extents) + number[0], most(place.index, extents) + number[1]
        if low < 0 or high >= place.buffer.elements:
            return True
    return any(_leaves(part, extents) for part in parts_of(expr))


def kernels_in_c(
    name: str, kernels: Sequence[TableKernel], functions: Mapping[str, FunctionDefinition]
) -> str:
    """Returns C code: for each kernel, a function that gets its pointers in an array, and their list."""
    lines = [
        "/* ---- kernels as tables run them: with pointers from an array ---- */",
        "",
        "#ifdef SOLDER_TABLES",
    ]
    for number, kernel in enumerate(kernels):
        lines += _caller(number, kernel, functions[kernel.function])
    lines.append("static const struct solder_kernel table_kernels[] = {")
    for number, kernel in enumerate(kernels):
        low, high = kernel.id[8:], kernel.id[:8]
        lines += (
            f"    {{{{0x{low}u, 0x{high}u}}, table_kernel_{number}, table_pointers_{number}, "
            f"{len(kernel.pointers)}, {kernel.count}}},",
        )
    lines += [
        "};",
        f"const struct solder_kernel_set {name}_kernels = {{table_kernels, {len(kernels)}}};",
        "#endif",
    ]
    return "\n".join(lines)


def _caller(number: int, kernel: TableKernel, function: FunctionDefinition) -> Iterator[str]:
    yield f"static const struct solder_kernel_pointers table_pointers_{number}[] = {{"
    for each in kernel.pointers:
        yield f"    {{{each.bytes}, {each.count}, {each.align}, {int(each.is_written)}}},"
    yield from ("};", "", f"static void table_kernel_{number}(void *const *p)", "{")
    if kernel.shape:
        yield f"    static const {shape_struct(kernel.function)} shape = {{"
        yield from (f"        .{name} = {value}," for name, value in kernel.shape.items())
        yield "    };"
    yield f"    {kernel.function}("
    arguments = list(_arguments(kernel, function))
    yield from (f"        {each}," for each in arguments[:-1])
    yield from (f"        {arguments[-1]});", "}", "")


def _arguments(kernel: TableKernel, function: FunctionDefinition) -> Iterator[str]:
    """Yields the pointer arguments of each parameter; for an array parameter, the start of its pointers."""
    first = 0
    for param, each in zip(function.params, kernel.pointers, strict=True):
        is_array = param.length is not None
        yield f"({param.c_type} *)(const void *)(p + {first})" if is_array else f"p[{first}]"
        first += each.count
    if kernel.shape:
        yield "&shape"
