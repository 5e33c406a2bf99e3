"""The loop-nest IR: buffers, scalar expressions, loops, stores and instructions.

    proc   = Proc(name, params, body)
    stmt   = For(var, extent, body) | Declare(buffer) | Store(buffer[row][index], value)
           | Accumulate(buffer[row][index], value) | Invoke(instruction, windows)
    expr   = Const(value) | Index(affine) | Load(buffer[row][index]) | Element(buffer[index], number)
           | Binary(op, a, b) | Cast(dtype, value) | Apply(function, arguments)
           | Choose(condition, yes, no)

Buffers are flat; an index is an affine sum of loop variables. A buffer of rows is an array of row pointers,
so its elements have a row (which pointer) as well as an index. A kernel does not know who owns the rows.
Everything is frozen; schedule primitives build new procs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from typing import Any, cast

from aot.ir.types import DType
from aot.target import Feature
from codegen.loops.affine import Affine, to_affine


class Role(Enum):
    """The memory that holds a buffer, and its owner."""

    ROWS = "rows"  # array of pointers to input rows
    INPUT = "input"  # one input row, or a whole dense tensor
    OUTPUT = "output"  # one output row, or a whole dense tensor
    CONSTANT = "constant"  # weights and tables, passed by pointer so that equal shapes share code
    STATE = "state"  # arena bytes that persist from one step of a stage to the next
    SCRATCH = "scratch"  # an array owned by the caller; for a proc, arena bytes that are free between steps
    LOCAL = "local"  # registers or stack, declared in the body


@dataclass(frozen=True, slots=True)
class Buffer:
    name: str
    dtype: DType
    elements: int  # of one row, for ROWS
    role: Role
    rows: int = 1  # pointers in a buffer of rows: rows that are read, or several written together
    may_alias: bool = False  # the result may share memory with an operand; neither is `restrict` then
    vector_type: str = ""  # C type of the vector register that holds an instruction's LOCAL

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


MATH_H = frozenset(
    re.findall(
        r"\w+",
        """
        acosf acoshf asinf asinhf atan2f atanf atanhf ceilf copysignf cosf coshf erff expf expm1f fabsf floor
        floorf fmaf fmaxf fminf fmodf frexpf ldexpf log1pf logf powf rintf roundf sinf sinhf sqrtf tanf tanhf
        truncf
        """,
    )
)
_CALL = re.compile(r"\b([a-z]\w*)\(")


@cache
def math_calls(definition: str) -> frozenset[str]:
    """Returns the functions of math.h that a C text calls."""
    return MATH_H.intersection(_CALL.findall(definition))


@dataclass(frozen=True)
class ScalarFunction:
    """A scalar function: its C text and its meaning. Functions of the same name are equal."""

    name: str
    result: DType
    definition: str
    compute: Callable[..., Any] = field(compare=False)
    includes: tuple[str, ...] = ()
    calls: tuple[ScalarFunction, ...] = ()  # that the definition calls
    needs: frozenset[Feature] = frozenset()  # features of the core that runs the definition
    machine_instructions: int = 0  # of one call, in addition to an ordinary statement; for estimates
    is_inline: bool = True  # declared inline: a compiler may copy it, however long it is
    is_of_file: bool = False  # not a function: directives, which must precede every function of the file

    def meaning(self, *arguments: float) -> Any:
        return self.compute(*arguments)

    @property
    def library_calls(self) -> frozenset[str]:
        """Returns the functions of math.h that the definition calls."""
        return math_calls(self.definition)


class Arithmetic:
    """Operators of expressions, which build expressions. Other operands may be numbers."""

    __slots__ = ()

    def __add__(self, other: Expr | float) -> Binary:
        return Binary("+", _expr(self), _expr(other))

    def __sub__(self, other: Expr | float) -> Binary:
        return Binary("-", _expr(self), _expr(other))

    def __mul__(self, other: Expr | float) -> Binary:
        return Binary("*", _expr(self), _expr(other))

    def __floordiv__(self, other: Expr | float) -> Binary:
        return Binary("//", _expr(self), _expr(other))

    def __mod__(self, other: Expr | float) -> Binary:
        return Binary("%", _expr(self), _expr(other))

    def __lshift__(self, other: Expr | float) -> Binary:
        return Binary("<<", _expr(self), _expr(other))

    def __rshift__(self, other: Expr | float) -> Binary:
        return Binary(">>", _expr(self), _expr(other))

    def __and__(self, other: Expr | float) -> Binary:
        return Binary("&", _expr(self), _expr(other))


@dataclass(frozen=True, slots=True)
class Const(Arithmetic):
    value: int | float


@dataclass(frozen=True, slots=True)
class Index(Arithmetic):
    """A loop variable or affine sum used as a number."""

    value: Affine


@dataclass(frozen=True, slots=True)
class Load(Arithmetic):
    place: BufferPlace


@dataclass(frozen=True, slots=True)
class Element(Arithmetic):
    """The table element `number` places after `place`; the number is computed at run time."""

    place: BufferPlace
    number: Expr


@dataclass(frozen=True, slots=True)
class Binary(Arithmetic):
    op: str  # + - * < == min max; for integers also << >> & | ^ // % (rounded down, as in NumPy)
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Cast(Arithmetic):
    dtype: DType
    value: Expr


@dataclass(frozen=True, slots=True)
class Apply(Arithmetic):
    function: ScalarFunction
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Choose(Arithmetic):
    """One of two values. The other is not evaluated, so it may be undefined."""

    condition: Expr  # true if not 0
    yes: Expr
    no: Expr


Expr = Const | Index | Load | Element | Binary | Cast | Apply | Choose


def _expr(value: Arithmetic | float) -> Expr:
    return cast(Expr, value) if isinstance(value, Arithmetic) else Const(value)


def maximum(left: Expr | float, right: Expr | float) -> Binary:
    return Binary("max", _expr(left), _expr(right))


def minimum(left: Expr | float, right: Expr | float) -> Binary:
    return Binary("min", _expr(left), _expr(right))


def less(left: Expr | float, right: Expr | float) -> Binary:
    return Binary("<", _expr(left), _expr(right))


def equal(left: Expr | float, right: Expr | float) -> Binary:
    return Binary("==", _expr(left), _expr(right))


@dataclass(frozen=True, slots=True)
class For:
    var: str
    extent: int
    body: tuple[Stmt, ...]
    unrolled: bool = False  # C repeats the body once per value
    note: str = ""  # a comment above the loop in C; may be empty


@dataclass(frozen=True, slots=True)
class Declare:
    buffer: Buffer


@dataclass(frozen=True, slots=True)
class Store:
    place: BufferPlace
    value: Expr


@dataclass(frozen=True, slots=True)
class Accumulate:
    """Adds the value to an element."""

    place: BufferPlace
    value: Expr


@dataclass(frozen=True)
class Instruction:
    """C code, and the loop nest `body` over `params` that defines its meaning.

    In `call`, a parameter held in registers is {name[0]}, {name[1]}, ..., and any other is a pointer, {name}.
    A number of the body that is passed to the function is {number's name}. `definition` is the C function
    that the call uses; it is printed once per file.
    """

    name: str
    params: tuple[Buffer, ...]
    body: tuple[Stmt, ...]
    call: str
    definition: str
    includes: tuple[str, ...] = ()
    # Called by the definition, by name. Functions of the same name are equal.
    calls: tuple[Instruction | ScalarFunction, ...] = field(default=(), compare=False)
    machine_instructions: int = 0  # code size of one call, for estimates
    stack_bytes: int = 0  # stack of one call, for estimates
    numbers: tuple[tuple[str, int], ...] = ()
    needs: frozenset[Feature] = field(default=frozenset(), compare=False)  # features of the core that runs it
    is_inline: bool = True
    is_asm: bool = False  # the definition has an assembly statement that the compiler must not move
    own_registers: int = 0  # general registers that the statement uses in addition to its operands
    own_vectors: int = 0  # vector registers that it uses, operands included; 0: not known

    @property
    def library_calls(self) -> frozenset[str]:
        """Returns the functions of math.h that the definition calls."""
        return math_calls(self.definition)

    @property
    def is_c(self) -> bool:
        """Returns True if a C function implements it, without assembly and not as a bare call."""
        return bool(self.definition) and not self.is_asm


@dataclass(frozen=True, slots=True)
class Invoke:
    """An instruction applied to windows: the place at which each parameter begins."""

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


def local(name: str, dtype: DType) -> Buffer:
    """Returns a variable of a kernel's body."""
    return Buffer(name, dtype, 1, Role.LOCAL)


def let(variable: Buffer, value: Expr | float) -> tuple[Declare, Store]:
    """Declares a variable and stores its first value."""
    return Declare(variable), Store(at(variable), _expr(value))


def walk(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """Yields every statement, parents first."""
    for stmt in body:
        yield stmt
        if isinstance(stmt, For):
            yield from walk(stmt.body)


def parts_of(expr: Expr) -> tuple[Expr, ...]:
    """Returns the direct subexpressions."""
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
    """Returns the expression with other subexpressions, in the order of parts_of."""
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
    """Yields every load. For a table element, yields a load of the table's beginning."""
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
    """Yields every affine sum with its use: a buffer index, or a number."""
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
    """Returns the statement with every place in it changed, including nested ones."""
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
    """Returns every place in a statement in textual order, including nested ones."""
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
    """Returns the expression with `change` applied to every subexpression, inner ones first."""
    parts = parts_of(expr)
    return change(with_parts(expr, [map_expr(part, change) for part in parts]) if parts else expr)


def map_values(stmt: Stmt, change: Callable[[Expr], Expr]) -> Stmt:
    """Returns the statement with every expression in its stored and added values changed."""
    match stmt:
        case For(var, extent, body, unrolled, note):
            return For(var, extent, tuple([map_values(s, change) for s in body]), unrolled, note)
        case Store(place, value) | Accumulate(place, value):
            return type(stmt)(place, map_expr(value, change))
    return stmt


def substitute(stmt: Stmt, values: Mapping[str, Affine]) -> Stmt:
    """Replaces loop variables by affine values, in indices and in expressions."""
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
