"""Prints a proc as Python text that reads like the loops. parse.py reads it back.

    def dense_64_to_10(x: rows(i8[64]), w: constant(i8[640]), bias: constant(i32[10]), y: output(i8[10])):
        for o in range(10):
            acc: local(i32[1])
            acc[0] = bias[o]
            for k in unrolled(64):
                acc[0] += x[0][k] * w[k + o * 64]
            y[o] = i8(max(-128, min(127, acc[0])))

The annotation of a buffer names its role, element type and number of elements. An element of a buffer of rows
has two subscripts. `x[0][4:]` is the window that begins there, as an operand of an instruction.
`table[0:][n]` is the element at a computed number. `index(...)` converts an index to a number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from codegen.loops.affine import Affine
from codegen.loops.ir import (
    Accumulate,
    Apply,
    Binary,
    Buffer,
    BufferPlace,
    Cast,
    Choose,
    Const,
    Declare,
    Element,
    Expr,
    For,
    Index,
    Instruction,
    Invoke,
    Load,
    Proc,
    ScalarFunction,
    Stmt,
    Store,
    parts_of,
    walk,
)
from codegen.loops.operators import ATOM, COMPARED, OPERATORS

_LINE = 100  # characters; a longer header has a line per parameter
_INDENT = "    "
_CHOICE = 0  # binds least tightly

Named = Instruction | ScalarFunction  # referenced in the text by name only


def print_proc(proc: Proc) -> str:
    """Returns the proc as a Python function."""
    return _function(proc.name, proc.params, proc.body, _instruction_names(proc))


def print_instruction(instruction: Instruction, name: str = "") -> str:
    """Returns the loops that define an instruction, with its C text above."""
    as_proc = Proc(name or text_name(instruction), instruction.params, instruction.body)
    meaning = print_proc(as_proc)
    return f"@instruction({instruction.call!r})\n{meaning}"


def text_name(named: Named) -> str:
    """Returns the name as a Python identifier: "__" replaces the mark that distinguishes variants."""
    return named.name.replace("@", "__")


def named_in(proc: Proc) -> dict[str, Named]:
    """Returns the instructions and functions that the proc calls, by name, as parse_proc needs them."""
    functions = {text_name(each): each for each in called_in(proc) if isinstance(each, ScalarFunction)}
    return {**functions, **{name: each for each, name in _instruction_names(proc).items()}}


def _instruction_names(proc: Proc) -> dict[Instruction, str]:
    """Returns names: those of one C function that are given different numbers have these in the name."""
    called = dict.fromkeys(each for each in called_in(proc) if isinstance(each, Instruction))
    alike = Counter(text_name(each) for each in called)
    return {each: text_name(each) if alike[text_name(each)] == 1 else _numbered(each) for each in called}


def _numbered(instruction: Instruction) -> str:
    numbers = [f"{name}_{number}" for name, number in instruction.numbers]
    return "_".join([f"{text_name(instruction)}_", *numbers])


def called_in(proc: Proc) -> Iterator[Named]:
    """Yields every instruction or function that the proc calls."""
    for stmt in walk(proc.body):
        if isinstance(stmt, Invoke):
            yield stmt.instruction
        elif isinstance(stmt, Store | Accumulate):
            yield from _functions_of(stmt.value)


def _functions_of(expr: Expr) -> Iterator[ScalarFunction]:
    if isinstance(expr, Apply):
        yield expr.function
    for part in parts_of(expr):
        yield from _functions_of(part)


def _function(
    name: str, params: Iterable[Buffer], body: tuple[Stmt, ...], names: Mapping[Instruction, str]
) -> str:
    annotated = [f"{param.name}: {_annotation(param)}" for param in params]
    head = f"def {name}({', '.join(annotated)}):"
    if len(head) > _LINE:
        head = "\n".join([f"def {name}(", *(f"{_INDENT}{each}," for each in annotated), "):"])
    return "\n".join([head, *_body(body, 1, names)]) + "\n"


def _annotation(buffer: Buffer) -> str:
    more = [f"rows={buffer.rows}"] if buffer.rows != 1 else []
    more += ["may_alias=True"] if buffer.may_alias else []
    more += [f"vector_type={buffer.vector_type!r}"] if buffer.vector_type else []
    return f"{buffer.role.value}({', '.join([f'{buffer.dtype.value}[{buffer.elements}]', *more])})"


def _body(body: tuple[Stmt, ...], depth: int, names: Mapping[Instruction, str]) -> Iterator[str]:
    for stmt in body:
        yield from _stmt(stmt, depth, names)
    if not body:
        yield f"{_INDENT * depth}pass"


def _stmt(stmt: Stmt, depth: int, names: Mapping[Instruction, str]) -> Iterator[str]:
    indent = _INDENT * depth
    match stmt:
        case For(var, extent, inner):
            note = f", note={stmt.note!r}" if stmt.note else ""
            yield f"{indent}for {var} in {'unrolled' if stmt.unrolled else 'range'}({extent}{note}):"
            yield from _body(inner, depth + 1, names)
        case Declare(buffer):
            yield f"{indent}{buffer.name}: {_annotation(buffer)}"
        case Store(place, value):
            yield f"{indent}{_element(place)} = {_expr(value)}"
        case Accumulate(place, value):
            yield f"{indent}{_element(place)} += {_expr(value)}"
        case Invoke(instruction, windows):
            yield f"{indent}{names[instruction]}({', '.join(map(_window, windows))})"


def _row(place: BufferPlace) -> str:
    has_rows = place.buffer.is_rows or place.buffer.rows > 1 or place.row != Affine()
    return f"{place.buffer.name}[{place.row}]" if has_rows else place.buffer.name


def _element(place: BufferPlace) -> str:
    return f"{_row(place)}[{place.index}]"


def _window(place: BufferPlace) -> str:
    return f"{_row(place)}[{place.index}:]"


def _expr(expr: Expr, around: int = _CHOICE) -> str:
    """Returns the expression, in parentheses if its context binds more tightly."""
    text, tightness = _text(expr)
    return f"({text})" if tightness < around else text


def _text(expr: Expr) -> tuple[str, int]:
    match expr:
        case Const(value):
            return (repr(float(value)) if isinstance(value, float) else str(int(value))), ATOM
        case Index(value):
            return f"index({value})", ATOM
        case Load(place):
            return _element(place), ATOM
        case Element(place, number):
            return f"{_window(place)}[{_expr(number)}]", ATOM
        case Cast(dtype, value):
            return f"{dtype.value}({_expr(value)})", ATOM
        case Apply(function, arguments):
            return f"{text_name(function)}({', '.join(map(_expr, arguments))})", ATOM
        case Binary(op, left, right) if OPERATORS[op].syntax is None:
            return f"{op}({_expr(left)}, {_expr(right)})", ATOM
        case Binary(op, left, right):
            tightness = OPERATORS[op].tightness
            first = tightness + 1 if tightness == COMPARED else tightness
            return f"{_expr(left, first)} {op} {_expr(right, tightness + 1)}", tightness
        case Choose(condition, yes, no):
            parts = (_expr(part, COMPARED) for part in (yes, condition, no))
            return "{} if {} else {}".format(*parts), _CHOICE
