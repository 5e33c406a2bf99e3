"""Converts a proc to a function of the C tree: unrolled loops and the parameters that it uses."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from string import Formatter

from aot.ir.types import DType
from codegen.c import tree
from codegen.c.tree import (
    ArrayLength,
    CastTo,
    Count,
    Expr,
    FunctionCall,
    Group,
    Helper,
    Infix,
    Linear,
    Literal,
    Name,
    Number,
    Subscript,
    Sum,
)
from codegen.loops import ir
from codegen.loops.affine import Affine
from codegen.loops.halves import FIRST, SECOND, is_cut, turns_of
from codegen.loops.ir import (
    Buffer,
    BufferPlace,
    Declare,
    For,
    Instruction,
    Invoke,
    Proc,
    Role,
    ScalarFunction,
    walk,
)
from codegen.loops.operators import BITS, DIVISIONS, SHIFTS, operand_type, unsigned
from codegen.loops.ranges import range_of
from codegen.loops.schedule import expand_unrolled

# Shifts, bit operations and divisions of integers in C, which leaves some undefined or rounds up.


# 16-bit ints, which some cores have: results that exceed them are computed in 32 bits.

_INT_BYTES = 2  # the minimum size of an int
_LEAST, _MOST = -(2**15), 2**15 - 1
_GROWING = ("+", "-", "*")
_OF_32_BITS = ("<<", "//")  # computed by C after a conversion


def goes_beyond_int(expr: ir.Binary) -> bool:
    """Returns True if both operands may be ints and the result may exceed 16 bits."""
    if expr.op not in _GROWING or not (_is_int(expr.left) and _is_int(expr.right)):
        return False
    span = range_of(expr, {})
    return span is not None and not _LEAST <= span[0] <= span[1] <= _MOST


def _is_int(expr: ir.Expr) -> bool:
    """Returns True if C computes the value as an int, as narrower types are. A loop variable has 32 bits."""
    match expr:
        case ir.Const(int() as value):
            return _LEAST <= value <= _MOST
        case ir.Load(place) | ir.Element(place, _):
            return _is_narrow(place.buffer.dtype)
        case ir.Cast(dtype, _):
            return _is_narrow(dtype)
        case ir.Apply(function, _):
            return _is_narrow(function.result)
        case ir.Choose(_, yes, no):
            return _is_int(yes) and _is_int(no)
        case ir.Binary("<" | "=="):
            return True
        case ir.Binary(op, left, right):
            return op not in _OF_32_BITS and _is_int(left) and _is_int(right) and not goes_beyond_int(expr)
    return False


def _is_narrow(dtype: DType) -> bool:
    return dtype.bytes <= _INT_BYTES


WHOLE_OPERATORS = frozenset((*SHIFTS, *BITS, *DIVISIONS))
_LEAST_BITS = 16  # of C's int


def _divided(kind: DType) -> Helper:
    name = f"quotient_down_{kind.value}"
    text = f"""\
/* a / b, rounded down; b is not 0. */
static inline {kind.c_name} {name}({kind.c_name} a, {kind.c_name} b)
{{
    const {kind.c_name} quotient = a / b;
    return quotient - (a % b != 0 && (a < 0) != (b < 0));
}}
"""
    return Helper(name, text)


def _remainder(kind: DType) -> Helper:
    name = f"remainder_down_{kind.value}"
    text = f"""\
/* What a / b, rounded down, leaves: it has the sign of b, which is not 0. */
static inline {kind.c_name} {name}({kind.c_name} a, {kind.c_name} b)
{{
    const {kind.c_name} rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}}
"""
    return Helper(name, text)


_SIGNED = (DType.I32, DType.I64)
_HELPERS = {(op, kind): made(kind) for op, made in (("//", _divided), ("%", _remainder)) for kind in _SIGNED}


def integer_operator(expr: ir.Binary, to_c: Callable[[ir.Expr], Expr]) -> Expr:
    """Returns the operation in C, defined for all operands that `ranges.py` accepts."""
    op, kind = expr.op, operand_type(expr.op, expr.left, expr.right)
    power = _power_of_two(expr.right)
    a, b = to_c(expr.left), to_c(expr.right)
    if op == "<<":
        return _shifted_left(kind, a, b)
    if op == "//" and power is not None:
        op, b = ">>", Number(power, "number")
    elif op == "%" and power is not None:
        op, b = "&", Number(2**power - 1, "number")
    elif (op, kind) in _HELPERS:
        helper = _HELPERS[op, kind]
        return FunctionCall(helper.name, (a, b), helper)
    is_short = isinstance(b, Number) and b.value < _LEAST_BITS
    if op == ">>" and not is_short:  # a narrow type becomes an int, which has 16 bits on some cores
        a = CastTo(kind.c_name, a)
    return Group(Infix("/" if op == "//" else op, a, b))


def _shifted_left(kind: DType, a: Expr, b: Expr) -> Expr:
    """Returns the shift in an unsigned type, whose overflow is defined."""
    plain = unsigned(kind)
    shifted = Infix("<<", CastTo(plain.c_name, a), b)
    return Group(shifted) if plain is kind else CastTo(kind.c_name, Group(shifted))


def _power_of_two(expr: ir.Expr) -> int | None:
    match expr:
        case ir.Const(int() as value) if value > 0 and value & (value - 1) == 0:
            return value.bit_length() - 1
    return None


_KERNEL = "static KERNEL void"
_WORD = 4  # bytes: the alignment of arrays of any type, for 32-bit loads
_EXTREMES = {"min": "<", "max": ">"}
HALF = Name("half")  # 0 or 1: selects half of the kernel's outermost loops
HALF_PARAMETER = tree.TypedName("int32_t", HALF.name)


@dataclass(frozen=True, slots=True)
class KernelFunction:
    """The function of a proc, and the buffers that its body uses, which are its parameters."""

    function: tree.FunctionDefinition
    buffers: tuple[Buffer, ...]


def kernel_function(proc: Proc, comment: str, in_halves: bool = False) -> KernelFunction:
    """Returns the function of a proc, or of the half that its last parameter selects."""
    body = expand_unrolled(proc.body)
    maker = _Maker(_register_buffers(body), _vector_types(body))
    used = {p.buffer.name for p in _places(body)}
    buffers = tuple(p for p in proc.params if p.name in used)
    params = tuple(_parameter(p) for p in buffers)
    made = maker.body(body)
    if in_halves:
        params = (*params, HALF_PARAMETER)
        made = tuple(_half(stmt, loop) for stmt, loop in zip(made, body, strict=True))
    function = tree.FunctionDefinition(_KERNEL, proc.name, params, made, comment)
    return KernelFunction(function, buffers)


def _half(stmt: tree.Stmt, loop: ir.Stmt) -> tree.Stmt:
    """Returns an outermost loop restricted to the iterations of a half."""
    if not isinstance(stmt, tree.ForLoop) or not isinstance(loop, For) or not is_cut(loop):
        return tree.If(tree.Infix("==", HALF, Number(SECOND)), (stmt,), comment="too little to be cut")
    first, second = (len(turns_of(loop, half)) for half in (FIRST, SECOND))
    step, rest = Number(first, f"{loop.var}_middle"), Number(second, f"{loop.var}_rest")
    return replace(
        stmt,
        first=Linear(((HALF.name, step),), Number(0)),
        count=Linear(((HALF.name, rest),), step),
    )


def _parameter(buffer: Buffer) -> tree.TypedName:
    c_type, name = buffer.dtype.c_name, buffer.name
    match buffer.role:
        case Role.CONSTANT:
            return tree.TypedName(f"{c_type} *restrict", name, is_constant=True)
        case Role.ROWS if buffer.rows > 1:
            return tree.TypedName(f"const {c_type} *const", name, buffer.rows)
        case Role.ROWS if buffer.may_alias:
            return tree.TypedName(f"const {c_type} *", name)
        case Role.OUTPUT if buffer.rows > 1:
            return tree.TypedName(f"{c_type} *const", name, buffer.rows)
        case Role.OUTPUT if buffer.may_alias:
            return tree.TypedName(f"{c_type} *", name)
        case Role.ROWS | Role.INPUT:
            return tree.TypedName(f"const {c_type} *restrict", name)
        case _:
            return tree.TypedName(f"{c_type} *restrict", name)


def _register_buffers(body: tuple[ir.Stmt, ...]) -> frozenset[str]:
    """Returns local buffers that become single variables in C, because all their indices are constant."""
    local = {s.buffer.name for s in walk(body) if isinstance(s, Declare)}
    indexed = {p.buffer.name for p in _places(body) if not p.index.is_constant}
    in_memory = {place.buffer.name for place, param in _windows(body) if param.role is not Role.LOCAL}
    return frozenset(local - indexed - in_memory)


def _vector_types(body: tuple[ir.Stmt, ...]) -> Mapping[str, _Vectors]:
    """Returns the vector registers of buffers that instructions hold in some, by name.

    If instructions use a buffer's elements from several places, there is a register for each. If all begin at
    its first element, they share one, of which each uses as many lanes as it needs.
    """
    held = [(place, param) for place, param in _windows(body) if param.vector_type]
    several = {place.buffer.name for place, _ in held if place.index != Affine()}
    return {
        place.buffer.name: _Vectors(param.vector_type, param.elements if place.buffer.name in several else 0)
        for place, param in held
    }


def _windows(body: tuple[ir.Stmt, ...]) -> Iterator[tuple[BufferPlace, Buffer]]:
    """Yields the operands of instructions, each with the instruction's parameter."""
    for stmt in walk(body):
        if isinstance(stmt, Invoke):
            yield from zip(stmt.windows, stmt.instruction.params, strict=True)


def _places(body: tuple[ir.Stmt, ...]) -> list[BufferPlace]:
    found: list[BufferPlace] = []
    for stmt in walk(body):
        match stmt:
            case ir.Store(place, value) | ir.Accumulate(place, value):
                found += [place, *(e.place for e in ir.loads_of(value))]
            case Invoke(_, windows):
                found += windows
    return found


@dataclass(frozen=True, slots=True)
class _Vectors:
    """The vector registers of buffers of one name."""

    c_type: str
    lanes: int  # of each; 0 if a buffer is in one register

    def count(self, buffer: Buffer) -> int:
        return buffer.elements // self.lanes if self.lanes else 1

    def name(self, buffer: Buffer, number: int) -> str:
        return buffer.name if self.count(buffer) == 1 else f"{buffer.name}{number}"


@dataclass(frozen=True, slots=True)
class _Maker:
    """Converts the statements of one proc to C."""

    registers: frozenset[str]  # buffers that are single variables
    vector_types: Mapping[str, _Vectors]  # of buffers that instructions hold in vector registers

    # ---- statements ----

    def body(self, body: Sequence[ir.Stmt]) -> tuple[tree.Stmt, ...]:
        return tuple(self.stmt(stmt) for stmt in body)

    def stmt(self, stmt: ir.Stmt) -> tree.Stmt:
        match stmt:
            case For(_, 1, inner):  # kept for its declarations
                return tree.Braces(self.body(inner))
            case For(var, extent, inner):
                count = Number(extent, f"{var}_count")
                return tree.ForLoop("int32_t", var, count, self.body(inner), stmt.note)
            case Declare(buffer):
                return self.declaration(buffer)
            case ir.Store(place, value):
                return tree.Assign(self.element(place), self.stored(place.buffer.dtype, value))
            case ir.Accumulate(place, value):
                return tree.Assign(self.element(place), self.expr(value), "+=")
            case Invoke(instruction, windows):
                return self.use(instruction, windows)

    def declaration(self, buffer: Buffer) -> tree.Stmt:
        c_type, size = buffer.dtype.c_name, buffer.dtype.bytes
        if buffer.name in self.vector_types:
            vectors = self.vector_types[buffer.name]
            count = vectors.count(buffer)
            bytes_each = buffer.elements // count * size
            if count > 1 and buffer.name not in self.registers:
                return tree.DeclareArray(vectors.c_type, buffer.name, ArrayLength(count), bytes_each, False)
            names = tuple(vectors.name(buffer, number) for number in range(count))
            return tree.DeclareVariables(vectors.c_type, names, bytes_each)
        if buffer.name not in self.registers:
            return tree.DeclareArray(c_type, buffer.name, ArrayLength(buffer.elements), size, size < _WORD)
        return tree.DeclareVariables(
            c_type, tuple(_register(buffer, i) for i in range(buffer.elements)), size
        )

    def stored(self, dtype: DType, value: ir.Expr) -> Expr:
        """Returns the value for a store. A cast tells the compiler that narrowing is intended."""
        made = self.expr(value)
        if dtype in (DType.I32, DType.F32, DType.I64) or _type_of(value) is dtype:
            return made
        return _cast(dtype, made)

    def use(self, instruction: ir.Instruction, windows: Sequence[BufferPlace]) -> tree.InstructionCall:
        assert isinstance(instruction, Instruction)
        mentioned = {name.partition("[")[0] for _, name, _, _ in Formatter().parse(instruction.call) if name}
        pairs = tuple(zip(instruction.params, windows, strict=True))
        given: dict[str, Expr | tuple[Expr, ...]] = {}
        given |= {name: Number(value, name) for name, value in instruction.numbers}
        given |= {param.name: self.window(window, param) for param, window in pairs}
        for param, window in pairs:
            if param.is_rows:  # an array of row pointers, and the offset of the window in its rows
                given[f"{param.name}_array"] = Name(window.buffer.name)
                given[f"{param.name}_offset"] = _linear(window.index, window.buffer.name)
        shown = tuple((name, value) for name, value in given.items() if name in mentioned)
        return tree.InstructionCall(instruction.name, instruction.call, shown, instruction)

    # ---- places ----

    def element(self, place: BufferPlace) -> Expr:
        buffer = place.buffer
        if buffer.name in self.registers:
            return Name(_register(buffer, place.index.constant))
        return Subscript(_row(place), _linear(place.index, buffer.name))

    def window(self, place: BufferPlace, param: Buffer) -> Expr | tuple[Expr, ...]:
        """Returns the argument for an instruction's parameter: a pointer, one per row, or registers."""
        if param.vector_type:
            return self.vector(place)
        if place.buffer.name in self.registers:
            first = place.index.constant
            return tuple(Name(_register(place.buffer, first + i)) for i in range(param.elements))
        if param.is_rows:
            return tuple(_pointer(replace(place, row=place.row + r)) for r in range(param.rows))
        return _pointer(place)

    def vector(self, place: BufferPlace) -> Expr:
        """Returns the vector register with the elements from a place on."""
        buffer, vectors = place.buffer, self.vector_types[place.buffer.name]
        if vectors.count(buffer) == 1:
            return Name(buffer.name)
        terms = tuple((var, factor // vectors.lanes) for var, factor in place.index.terms)
        number = Affine(terms, place.index.constant // vectors.lanes)
        if buffer.name in self.registers:
            return Name(vectors.name(buffer, number.constant))
        return Subscript(Name(buffer.name), _linear(number, buffer.name))

    # ---- expressions ----

    def expr(self, expr: ir.Expr) -> Expr:
        match expr:
            case ir.Const(value):
                return _constant(value)
            case ir.Index(affine):
                return _linear(affine, "number")
            case ir.Load(place):
                return self.element(place)
            case ir.Element(place, number):
                index = Sum((_linear(place.index, place.buffer.name), self.expr(number)))
                return Subscript(_row(place), index)
            case ir.Binary(("min" | "max") as op, left, right):
                a, b = self.expr(left), self.expr(right)
                return Group(tree.Ternary(tree.Infix(_EXTREMES[op], a, b), a, b))
            case ir.Binary(op) if op in WHOLE_OPERATORS:
                return integer_operator(expr, self.expr)
            case ir.Binary(op, left, right):
                a = self.expr(left)
                wide = tree.CastTo("int32_t", a) if goes_beyond_int(expr) else a
                return Group(tree.Infix(op, wide, self.expr(right)))
            case ir.Choose(condition, yes, no):
                return Group(tree.Ternary(self.expr(condition), self.expr(yes), self.expr(no)))
            case ir.Cast(dtype, value):
                return _cast(dtype, self.expr(value))
            case ir.Apply(function, arguments):
                assert isinstance(function, ScalarFunction)
                return tree.FunctionCall(function.name, tuple(self.expr(a) for a in arguments), function)


def _register(buffer: Buffer, index: int) -> str:
    return buffer.name if buffer.elements == 1 else f"{buffer.name}{index}"


def _row(place: BufferPlace) -> Expr:
    """Returns the buffer, or one of its rows."""
    base = Name(place.buffer.name)
    has_rows = place.buffer.rows > 1
    return Subscript(base, _linear(place.row, f"{place.buffer.name}_row")) if has_rows else base


def _pointer(place: BufferPlace) -> Expr:
    return Sum((_row(place), _linear(place.index, place.buffer.name)))


def _linear(affine: Affine, says: str) -> Linear:
    terms: tuple[tuple[str, Count], ...] = tuple(
        (var, Number(factor, f"{says}_per_{var}")) for var, factor in affine.terms
    )
    return Linear(terms, Number(affine.constant, f"{says}_first"))


def _constant(value: int | float) -> Expr:
    if not isinstance(value, float):
        return Number(int(value), "number")
    if math.isnan(value):
        return Literal("NAN", "math.h")
    size = Literal("INFINITY", "math.h") if math.isinf(value) else Literal(f"{abs(value)!r}f")
    return Group(replace(size, text=f"-{size.text}")) if value < 0 else size


def _cast(dtype: DType, value: Expr) -> Expr:
    """Returns a cast. The operand gets parentheses, unless it is a name or a call or has some already."""
    match value:
        case Subscript() | Literal() | Linear((), _):
            return tree.CastTo(dtype.c_name, Group(value))
        case Number(number) if number >= 0:
            return tree.CastTo(dtype.c_name, Group(value))
    return tree.CastTo(dtype.c_name, value)


def _type_of(value: ir.Expr) -> DType | None:
    match value:
        case ir.Load(place) | ir.Element(place, _):
            return place.buffer.dtype
        case ir.Cast(dtype, _):
            return dtype
        case ir.Apply(function, _):
            return function.result
    return None
