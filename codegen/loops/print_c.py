"""The C printer: a proc as one readable static C function."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from aot.ir.types import DType
from codegen.loops.affine import Affine, to_affine
from codegen.loops.ir import (
    Accumulate,
    Apply,
    Binary,
    Buffer,
    Cast,
    Choose,
    Const,
    Declare,
    Element,
    Expr,
    For,
    Function,
    Index,
    Instruction,
    Invoke,
    Load,
    Place,
    Proc,
    Role,
    Stmt,
    Store,
    loads_of,
    parts_of,
    substitute,
    walk,
)

_WORDS = re.compile(r"\w+")
_WORD = 4  # bytes: where arrays begin, whatever they hold, for instructions that take words of them
_VECTOR = frozenset({Role.VECTOR})
_MEMORY = frozenset(Role) - {Role.LOCAL, Role.VECTOR}
_VECTOR_TYPES = {DType.I32: "int32x4_t", DType.I8: "int8x16_t"}


@dataclass(frozen=True, slots=True)
class PrintedProc:
    text: str
    params: tuple[Buffer, ...]  # those the function has: the ones its body touches
    numbers: tuple[str, ...]  # members of `shape` that it uses
    functions: tuple[Function, ...]  # in order of first use
    instructions: tuple[Instruction, ...]


def print_expanded(proc: Proc, comment: str, numbers: Mapping[str, DType], space: str = "") -> PrintedProc:
    """A proc whose loops are written out; literals in it that are called `numbers` come from a struct,
    constants lie in that address space of C."""
    body = proc.body
    names = _Names(register_buffers(body), _windows_with(body, _VECTOR))
    used = {p.buffer.name for p in _places(body)}
    params = tuple(p for p in proc.params if p.name in used)
    printed = _print_body(body, names, 1)
    words = set(_WORDS.findall("\n".join(printed)))
    shown = tuple(name for name in numbers if name in words)
    lines = _struct(proc.name, {name: numbers[name] for name in shown})
    lines += [f"/* {comment} */", *_signature(proc.name, params, shown, space), "{"]
    lines += [f"    const int32_t {name} = shape->{name};" for name in shown]
    lines += [*printed, "}"]
    return PrintedProc("\n".join(lines) + "\n", params, shown, _functions(body), _instructions(body))


def shape_struct(name: str) -> str:
    """The C type of what a lifted function is given beside its buffers."""
    return f"struct {name}_shape"


def _struct(name: str, members: Mapping[str, DType]) -> list[str]:
    if not members:
        return []
    declared = [f"    {dtype.c_name} {member};" for member, dtype in members.items()]
    return [f"{shape_struct(name)} {{", *declared, "};", ""]


def expand_unrolled(
    body: tuple[Stmt, ...], values: Mapping[str, Affine] = MappingProxyType({})
) -> tuple[Stmt, ...]:
    """Loops marked unrolled written out, loops of one iteration dissolved; `values` of loops around it."""
    result: list[Stmt] = []
    for stmt in body:
        if not isinstance(stmt, For):
            result.append(substitute(stmt, values))
        elif stmt.unrolled or stmt.extent == 1:
            for value in range(stmt.extent):
                once = expand_unrolled(stmt.body, {**values, stmt.var: to_affine(value)})
                declares = any(isinstance(s, Declare) for s in once)
                result.extend((For(stmt.var, 1, once),) if declares else once)
        else:
            result.append(For(stmt.var, stmt.extent, expand_unrolled(stmt.body, values)))
    match result:
        case [For(_, 1, alone)]:  # alone in its block, it needs none of its own
            return alone
    return tuple(result)


@dataclass(frozen=True, slots=True)
class _Names:
    """Local buffers that become single variables because every index into them is known."""

    registers: frozenset[str]
    vectors: frozenset[str]  # those that instructions hold in a vector register

    def element(self, place: Place) -> str:
        buffer = place.buffer
        if buffer.name in self.registers:
            return self.register(buffer, place.index.constant)
        if buffer.is_rows and buffer.rows > 1:
            return f"{buffer.name}[{place.row}][{place.index}]"
        return f"{buffer.name}[{place.index}]"

    def register(self, buffer: Buffer, index: int) -> str:
        return buffer.name if buffer.elements == 1 else f"{buffer.name}{index}"

    def window(self, place: Place, param: Buffer) -> str | list[str]:
        """What an instruction's call gets for a parameter: a pointer, one per row, or registers."""
        if param.role is Role.VECTOR:
            return place.buffer.name
        if place.buffer.name in self.registers:
            first = place.index.constant
            return [self.register(place.buffer, first + i) for i in range(param.elements)]
        if param.is_rows:
            return [self.pointer(replace(place, row=place.row + r)) for r in range(param.rows)]
        return self.pointer(place)

    def pointer(self, place: Place) -> str:
        base = (
            f"{place.buffer.name}[{place.row}]"
            if place.buffer.is_rows and place.buffer.rows > 1
            else place.buffer.name
        )
        offset = str(place.index)
        return base if offset == "0" else f"{base} + {offset}"


def register_buffers(body: tuple[Stmt, ...]) -> frozenset[str]:
    """Locals that are single variables in C, since every index into them is known."""
    local = {s.buffer.name for s in walk(body) if isinstance(s, Declare)}
    indexed = {p.buffer.name for p in _places(body) if not p.index.is_constant}
    return frozenset(local - indexed - _windows_with(body, _MEMORY))


def _windows_with(body: tuple[Stmt, ...], roles: frozenset[Role]) -> frozenset[str]:
    """Buffers that instructions take as parameters of these roles."""
    return frozenset(
        window.buffer.name
        for stmt in walk(body)
        if isinstance(stmt, Invoke)
        for window, param in zip(stmt.windows, stmt.instruction.params, strict=True)
        if param.role in roles
    )


def _places(body: tuple[Stmt, ...]) -> list[Place]:
    found: list[Place] = []
    for stmt in walk(body):
        match stmt:
            case Store(place, value) | Accumulate(place, value):
                found += [place, *(e.place for e in loads_of(value))]
            case Invoke(_, windows):
                found += windows
    return found


def _signature(name: str, params: Sequence[Buffer], numbers: Sequence[str], space: str) -> list[str]:
    given = [_parameter(p, space) for p in params]
    given += [f"const {shape_struct(name)} *restrict shape"] if numbers else []
    *most, last = given
    return [f"static KERNEL void {name}(", *(f"    {text}," for text in most), f"    {last})"]


def _parameter(buffer: Buffer, space: str) -> str:
    c_type = buffer.dtype.c_name
    match buffer.role:
        case Role.CONSTANT if space:
            return f"const {space} {c_type} *restrict {buffer.name}"
        case Role.ROWS if buffer.rows > 1:
            return f"const {c_type} *const {buffer.name}[{buffer.rows}]"
        case Role.ROWS if buffer.overlaid:
            return f"const {c_type} *{buffer.name}"
        case Role.OUTPUT if buffer.overlaid:
            return f"{c_type} *{buffer.name}"
        case Role.ROWS | Role.INPUT | Role.CONSTANT:
            return f"const {c_type} *restrict {buffer.name}"
        case _:
            return f"{c_type} *restrict {buffer.name}"


def _print_body(body: tuple[Stmt, ...], names: _Names, depth: int) -> list[str]:
    lines: list[str] = []
    rest = list(body)
    while rest:
        stmt = rest.pop(0)
        if isinstance(stmt, Declare) and _is_begun(stmt.buffer, rest, names):
            begins = [rest.pop(0) for _ in range(stmt.buffer.elements)]
            printed = [_print_stmt(store, names, depth)[0].lstrip() for store in begins]
            lines += [f"{'    ' * depth}{stmt.buffer.dtype.c_name} {text}" for text in printed]
        else:
            lines += _print_stmt(stmt, names, depth)
    return lines


def _is_begun(buffer: Buffer, following: Sequence[Stmt], names: _Names) -> bool:
    """Whether the next statements store the first value of each of its variables, in their order."""
    if buffer.name not in names.registers or buffer.name in names.vectors:
        return False
    return [
        stmt.place.index.constant
        for stmt in following[: buffer.elements]
        if isinstance(stmt, Store) and stmt.place.buffer.name == buffer.name
    ] == list(range(buffer.elements))


def _print_stmt(stmt: Stmt, names: _Names, depth: int) -> list[str]:
    pad = "    " * depth
    match stmt:
        case For(_, extent, inner) if str(extent) == "1":  # kept for its declarations
            return [f"{pad}{{", *_print_body(inner, names, depth + 1), f"{pad}}}"]
        case For(var, extent, inner):
            head = f"{pad}for (int32_t {var} = 0; {var} < {extent}; ++{var}) {{"
            return [head, *_print_body(inner, names, depth + 1), f"{pad}}}"]
        case Declare(buffer):
            return _declaration(buffer, names, pad)
        case Store(place, value):
            return [f"{pad}{names.element(place)} = {_stored(place.buffer.dtype, value, names)};"]
        case Accumulate(place, value):
            return [f"{pad}{names.element(place)} += {_bare(_expr(value, names))};"]
        case Invoke(instruction, windows):
            return _print_call(instruction, windows, names, pad)


def _declaration(buffer: Buffer, names: _Names, pad: str) -> list[str]:
    if buffer.name in names.vectors:
        return [f"{pad}{_VECTOR_TYPES[buffer.dtype]} {buffer.name};"]
    c_type = buffer.dtype.c_name
    if buffer.name not in names.registers:
        words = "" if buffer.dtype.bytes >= _WORD else f" __attribute__((aligned({_WORD})))"
        return [f"{pad}{c_type} {buffer.name}[{buffer.elements}]{words};"]
    every = ", ".join(names.register(buffer, i) for i in range(buffer.elements))
    return [f"{pad}{c_type} {every};"]


def _stored(dtype: DType, value: Expr, names: _Names) -> str:
    """A store narrows on purpose; the cast says so to the compiler."""
    text = _expr(value, names)
    if dtype in (DType.I32, DType.F32, DType.I64) or _type_of(value) is dtype:
        return _bare(text)
    return f"({dtype.c_name}){_parenthesised(text)}"


def _type_of(value: Expr) -> DType | None:
    match value:
        case Load(place) | Element(place, _):
            return place.buffer.dtype
        case Cast(dtype, _):
            return dtype
        case Apply(function, _):
            return function.result
    return None


def _expr(expr: Expr, names: _Names) -> str:
    match expr:
        case Const(value):
            return _literal(value)
        case Index(affine):
            return f"({affine})" if " " in str(affine) else str(affine)
        case Load(place):
            return names.element(place)
        case Element(place, number):
            text = _expr(number, names)
            inside = _bare(text) if str(place.index) == "0" else f"{place.index} + {text}"
            row = f"[{place.row}]" if place.buffer.is_rows and place.buffer.rows > 1 else ""
            return f"{place.buffer.name}{row}[{inside}]"
        case Binary(("min" | "max") as op, left, right):
            a, b = _expr(left, names), _expr(right, names)
            return f"({a} {'<' if op == 'min' else '>'} {b} ? {a} : {b})"
        case Binary(op, left, right):
            wide = "(int32_t)" if _overflows_16_bits(left, right) else ""
            return f"({wide}{_expr(left, names)} {op} {_expr(right, names)})"
        case Choose(condition, yes, no):
            return f"({_expr(condition, names)} ? {_expr(yes, names)} : {_expr(no, names)})"
        case Cast(dtype, value):
            return f"({dtype.c_name}){_parenthesised(_expr(value, names))}"
        case Apply(function, arguments):
            return f"{function.name}({', '.join(_bare(_expr(a, names)) for a in arguments)})"


def _overflows_16_bits(left: Expr, right: Expr) -> bool:
    """Whether C would compute with operands of 16 bits as int, which on some processors has no more."""
    types = {_type_of(left), _type_of(right)}
    return DType.I16 in types and types <= {DType.I16, DType.I8, DType.U8}


def _literal(value: int | float) -> str:
    if isinstance(value, float):
        text = f"{value!r}f" if math.isfinite(value) else "__builtin_inff()"
        return f"(-{text.removeprefix('-')})" if value < 0 else text
    text = str(value)
    if type(value) is int and not -(2**31) <= value < 2**31:
        text = "INT64_MIN" if value == -(2**63) else f"{value}LL"
    return f"({text})" if text.startswith("-") else text


def _parenthesised(text: str) -> str:
    return text if text.isidentifier() or text.startswith("(") or text.endswith(")") else f"({text})"


def _bare(text: str) -> str:
    """Without one pair of outer parentheses, where they pair with each other."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for i, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0 and i < len(text) - 1:
            return text
    return text[1:-1]


def _print_call(instruction: Instruction, windows: Sequence[Place], names: _Names, pad: str) -> list[str]:
    given: dict[str, str | list[str]] = {
        p.name: names.window(w, p) for p, w in zip(instruction.params, windows, strict=True)
    }
    given |= {  # an array of row pointers as a whole, and where in its rows the window begins
        f"{p.name}_{part}": text
        for p, w in zip(instruction.params, windows, strict=True)
        if p.is_rows
        for part, text in (("array", w.buffer.name), ("offset", str(w.index)))
    } | {name: str(value) for name, value in instruction.numbers}
    return [f"{pad}{line}" for line in instruction.call.format(**given).splitlines()]


def _functions(body: tuple[Stmt, ...]) -> tuple[Function, ...]:
    found: dict[str, Function] = {}
    for stmt in walk(body):
        if isinstance(stmt, Store | Accumulate):
            for function in _applied(stmt.value):
                found.setdefault(function.name, function)
    return tuple(found.values())


def _applied(expr: Expr) -> list[Function]:
    inside = [function for part in parts_of(expr) for function in _applied(part)]
    return [*inside, expr.function] if isinstance(expr, Apply) else inside


def _instructions(body: tuple[Stmt, ...]) -> tuple[Instruction, ...]:
    found: dict[str, Instruction] = {}
    for stmt in walk(body):
        if isinstance(stmt, Invoke):
            found.setdefault(stmt.instruction.name, stmt.instruction)
    return tuple(found.values())
