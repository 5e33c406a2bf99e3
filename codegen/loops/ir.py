"""The loop-nest IR: buffers, scalar expressions, loops, stores and instructions.

    proc   = Proc(name, params, body)
    stmt   = For(var, extent, body) | Declare(buffer) | Store(buffer[row][index], value)
           | Accumulate(buffer[row][index], value) | Invoke(instruction, windows)
    expr   = Const(value) | Index(affine) | Load(buffer[row][index]) | Element(buffer[index], number)
           | Binary(op, a, b) | Cast(dtype, value) | Apply(function, arguments)
           | Choose(condition, yes, no)

Buffers are flat; an index is an affine sum of loop variables. A buffer of rows is an array of row
pointers, so an element of it has a row (which pointer) beside its index: who owns the rows does
not concern a kernel. Everything is frozen; schedule primitives build new procs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from aot.ir.types import DType
from aot.target import Feature
from codegen.loops.affine import Affine, to_affine


class Role(Enum):
    """The memory that a buffer lives in, and its owner."""

    ROWS = "rows"  # array of pointers to input rows
    INPUT = "input"  # one input row, or a whole dense tensor
    OUTPUT = "output"  # one output row, or a whole dense tensor
    CONSTANT = "constant"  # weights and tables, passed by pointer so that equal shapes share code
    STATE = "state"  # arena bytes that live from one step of a stage to the next
    SCRATCH = "scratch"  # an array that the caller holds: of a proc, arena bytes that are free between steps
    LOCAL = "local"  # registers or stack, declared in the body


@dataclass(frozen=True, slots=True)
class Buffer:
    name: str
    dtype: DType
    elements: int  # of one row, for ROWS
    role: Role
    rows: int = 1  # pointers in a buffer of rows: those read, or several that are written together
    may_alias: bool = False  # the result may lie where an operand lies: neither is alone there
    vector_type: str = ""  # of an instruction's LOCAL: the C type of the vector register that holds it

    @property
    def is_rows(self) -> bool:
        return self.role is Role.ROWS


@dataclass(frozen=True, slots=True)
class BufferPlace:
    """An element of a buffer."""

    buffer: Buffer
    index: Affine
    row: Affine

    def substitute(self, values: Mapping[str, Affine]) -> BufferPlace:
        index, row = self.index.substitute(values), self.row.substitute(values)
        return self if index is self.index and row is self.row else BufferPlace(self.buffer, index, row)

    @property
    def variables(self) -> frozenset[str]:
        return self.index.variables | self.row.variables


@dataclass(frozen=True)
class ScalarFunction:
    """A scalar function: its C text and what it computes. Two of one name are the same function."""

    name: str
    result: DType
    definition: str
    compute: Callable[..., Any] = field(compare=False)
    includes: tuple[str, ...] = ()
    calls: tuple[ScalarFunction, ...] = ()  # functions that the definition calls
    needs: frozenset[Feature] = frozenset()  # of the core that runs the definition
    machine_instructions: int = 0  # that one call takes beside an ordinary statement, for estimates
    library_calls: tuple[str, ...] = ()  # functions of math.h that the definition calls
    is_inline: bool = True  # its definition says so: a compiler may copy it, however long it is

    def meaning(self, *arguments: float) -> Any:
        return self.compute(*arguments)


@dataclass(frozen=True, slots=True)
class Const:
    value: int | float


@dataclass(frozen=True, slots=True)
class Index:
    """A loop variable or affine sum used as a number."""

    value: Affine


@dataclass(frozen=True, slots=True)
class Load:
    place: BufferPlace


@dataclass(frozen=True, slots=True)
class Element:
    """The element of a table that lies `number` after a place; the number is computed."""

    place: BufferPlace
    number: Expr


@dataclass(frozen=True, slots=True)
class Binary:
    op: str  # one of + - * < == min max, and of whole numbers << >> & | ^ // % (rounded down, as NumPy does)
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Cast:
    dtype: DType
    value: Expr


@dataclass(frozen=True, slots=True)
class Apply:
    function: ScalarFunction
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Choose:
    """One of two values; the other is not computed, so it may be one that does not exist."""

    condition: Expr  # not 0
    yes: Expr
    no: Expr


Expr = Const | Index | Load | Element | Binary | Cast | Apply | Choose


@dataclass(frozen=True, slots=True)
class For:
    var: str
    extent: int
    body: tuple[Stmt, ...]
    unrolled: bool = False  # written out once per value in C
    note: str = ""  # a comment above the loop in C, where it is one


@dataclass(frozen=True, slots=True)
class Declare:
    buffer: Buffer


@dataclass(frozen=True, slots=True)
class Store:
    place: BufferPlace
    value: Expr


@dataclass(frozen=True, slots=True)
class Accumulate:
    """Adds the value to the place."""

    place: BufferPlace
    value: Expr


@dataclass(frozen=True)
class Instruction:
    """A piece of C together with the loop nest `body` over `params` that says what it does.

    In `call`, a parameter held in registers stands as {name[0]}, {name[1]}, ..., any other as a
    pointer {name}; a number of the body that the function is given, and not written for, as {its name}.
    `definition` is the C function that the call uses, printed once per file.
    """

    name: str
    params: tuple[Buffer, ...]
    body: tuple[Stmt, ...]
    call: str
    definition: str
    includes: tuple[str, ...] = ()
    # What the definition calls; it does so by name, and two of one name are the same.
    calls: tuple[Instruction | ScalarFunction, ...] = field(default=(), compare=False)
    machine_instructions: int = 0  # that one call puts into the code, for estimates
    stack_bytes: int = 0  # that one call keeps on the stack, likewise
    numbers: tuple[tuple[str, int], ...] = ()
    needs: frozenset[Feature] = field(default=frozenset(), compare=False)  # of the core that runs it
    library_calls: tuple[str, ...] = ()  # as a scalar function's
    is_inline: bool = True
    is_asm: bool = False  # the definition has a statement of assembly that stays where it stands
    own_registers: int = 0  # general ones that this statement works in, beside what it is given

    @property
    def is_c(self) -> bool:
        """True where a function of C does it, and no assembly and not the call alone."""
        return bool(self.definition) and not self.is_asm


@dataclass(frozen=True, slots=True)
class Invoke:
    """An instruction applied to windows: each parameter begins at a place."""

    instruction: Instruction
    windows: tuple[BufferPlace, ...]  # one per parameter of the instruction


Stmt = For | Declare | Store | Accumulate | Invoke
Body = tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class Proc:
    """A kernel: one call computes one row, or one whole result."""

    name: str
    params: tuple[Buffer, ...]
    body: tuple[Stmt, ...]

    def param(self, name: str) -> Buffer:
        return next(p for p in self.params if p.name == name)


def at(buffer: Buffer, index: Affine | int = 0, row: Affine | int = 0) -> BufferPlace:
    return BufferPlace(buffer, to_affine(index), to_affine(row))


def load(buffer: Buffer, index: Affine | int = 0, row: Affine | int = 0) -> Load:
    return Load(at(buffer, index, row))


def walk(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """Every statement, parents first."""
    for stmt in body:
        yield stmt
        if isinstance(stmt, For):
            yield from walk(stmt.body)


def parts_of(expr: Expr) -> tuple[Expr, ...]:
    """The expressions right inside it."""
    match expr:
        case Element(_, number):
            return (number,)
        case Binary(_, left, right):
            return (left, right)
        case Cast(_, value):
            return (value,)
        case Apply(_, arguments):
            return arguments
        case Choose(condition, yes, no):
            return (condition, yes, no)
        case Const() | Index() | Load():
            return ()


def with_parts(expr: Expr, parts: Sequence[Expr]) -> Expr:
    """The expression with others inside it, in the order of parts_of."""
    match expr:
        case Element(place, _):
            return Element(place, *parts)
        case Binary(op, _, _):
            return Binary(op, *parts)
        case Cast(dtype, _):
            return Cast(dtype, *parts)
        case Apply(function, _):
            return Apply(function, tuple(parts))
        case Choose():
            return Choose(*parts)
        case Const() | Index() | Load():
            return expr


def loads_of(expr: Expr) -> Iterator[Load]:
    """Every load; of an element of a table, the load of the table's beginning."""
    match expr:
        case Load():
            yield expr
        case Element(place, number):
            yield Load(place)
            yield from loads_of(number)
        case _:
            for part in parts_of(expr):
                yield from loads_of(part)


def numbers_of(expr: Expr) -> Iterator[Index]:
    if isinstance(expr, Index):
        yield expr
    for part in parts_of(expr):
        yield from numbers_of(part)


def indices_of(body: tuple[Stmt, ...]) -> Iterator[tuple[str, Affine]]:
    """Every affine sum with what it stands for: an index of a buffer, or a number."""
    for stmt in walk(body):
        places: tuple[BufferPlace, ...] = ()
        match stmt:
            case Store(place, value) | Accumulate(place, value):
                places = (place, *(e.place for e in loads_of(value)))
                yield from (("a number", e.value) for e in numbers_of(value))
            case Invoke(_, windows):
                places = windows
        for place in places:
            yield from ((place.buffer.name, place.index), (place.buffer.name, place.row))


def map_places(stmt: Stmt, change: Callable[[BufferPlace], BufferPlace]) -> Stmt:
    """The statement with every place in it changed, nested ones included."""
    match stmt:
        case For(var, extent, body, unrolled, note):
            return For(var, extent, tuple([map_places(s, change) for s in body]), unrolled, note)
        case Store(place, value) | Accumulate(place, value):
            return type(stmt)(change(place), map_expr_places(value, change))
        case Invoke(instruction, windows):
            return Invoke(instruction, tuple([change(w) for w in windows]))
        case Declare():
            return stmt


def places_of(stmt: Stmt) -> list[BufferPlace]:
    """Every place in a statement, nested ones included, in the order of its text."""
    found: list[BufferPlace] = []

    def note(place: BufferPlace) -> BufferPlace:
        found.append(place)
        return place

    map_places(stmt, note)
    return found


def map_expr_places(expr: Expr, change: Callable[[BufferPlace], BufferPlace]) -> Expr:
    def moved(expr: Expr) -> Expr:
        match expr:
            case Load(place):
                return Load(change(place))
            case Element(place, number):
                return Element(change(place), number)
        return expr

    return map_expr(expr, moved)


def map_expr(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """The expression with every one in it changed, inner ones first."""
    parts = parts_of(expr)
    return change(with_parts(expr, [map_expr(part, change) for part in parts]) if parts else expr)


def substitute(stmt: Stmt, values: Mapping[str, Affine]) -> Stmt:
    """Loop variables replaced by affine values, in indices and in expressions."""
    match stmt:
        case For(var, extent, body, unrolled, note):
            return For(var, extent, tuple([substitute(s, values) for s in body]), unrolled, note)
        case Store(place, value) | Accumulate(place, value):
            return type(stmt)(place.substitute(values), _substituted(value, values))
        case Invoke(instruction, windows):
            return Invoke(instruction, tuple([w.substitute(values) for w in windows]))
        case Declare():
            return stmt


def _substituted(expr: Expr, values: Mapping[str, Affine]) -> Expr:
    match expr:
        case Index(value):
            return Index(value.substitute(values))
        case Load(place):
            return Load(place.substitute(values))
        case Element(place, number):
            return Element(place.substitute(values), _substituted(number, values))
        case Const():
            return expr
        case _:
            return with_parts(expr, [_substituted(part, values) for part in parts_of(expr)])
