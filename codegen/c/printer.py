"""Prints the C tree, in the dialect of a compiler, with the helpers' names in a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, takewhile
from textwrap import wrap

from codegen.c.dialect import C99, Dialect
from codegen.c.tree import (
    Assign,
    Braces,
    CastTo,
    Count,
    DeclareArray,
    DeclareVariables,
    Define,
    DefinePointers,
    DefineShape,
    DefineTable,
    Do,
    Enumerator,
    Expr,
    ForLoop,
    FunctionCall,
    FunctionDefinition,
    Group,
    If,
    Infix,
    InstructionCall,
    Linear,
    Literal,
    Name,
    Number,
    Postfix,
    Prefix,
    Return,
    Stmt,
    Subscript,
    Sum,
    SwitchStatement,
    Ternary,
    TypedName,
)
from codegen.c.tree_walk import uses, walk

LINE = 100  # columns
_PAD = "    "
_INT32 = range(-(2**31), 2**31)
_Initialized = tuple[DeclareVariables, Sequence[Expr], bool]  # with values; True if they never change


@dataclass(frozen=True, slots=True)
class Printer:
    dialect: Dialect = C99
    names: Mapping[str, str] = field(default_factory=dict)  # helper -> its name in this file, if it differs

    # ---- functions ----

    def function(self, function: FunctionDefinition) -> str:
        comment = _comment(function.comment.splitlines())
        unpacked = [
            f"{_PAD}const int32_t {member} = shape->{member};"
            for member, _ in (function.shape.members if function.shape else ())
        ]
        body = self.statements(function.body, 1)
        lines = [*self._shape(function), *comment, *self._head(function), "{", *unpacked, *body, "}"]
        return "\n".join(lines)

    def _shape(self, function: FunctionDefinition) -> list[str]:
        if function.shape is None:
            return []
        members = [f"{_PAD}{c_type} {name};" for name, c_type in function.shape.members]
        return [f"{shape_struct(function.name)} {{", *members, "};", ""]

    def _head(self, function: FunctionDefinition) -> list[str]:
        given = [self.variable(p) for p in function.params]
        if function.shape is not None:
            given.append(f"const {shape_struct(function.name)} *restrict shape")
        begin = _declared(function.kind, function.name)
        line = f"{begin}({', '.join(given)})"
        return [line] if len(line) <= LINE else [f"{begin}(", *_packed(given, _PAD, ")")]

    def variable(self, variable: TypedName) -> str:
        constant = self.dialect.constant if variable.is_constant else ""
        length = "" if variable.length is None else f"[{variable.length}]"
        return f"{constant}{_declared(variable.c_type, variable.name)}{length}"

    # ---- statements ----

    def statements(self, body: Sequence[Stmt], depth: int) -> list[str]:
        lines: list[str] = []
        rest = list(body)
        while rest:
            initialized = _initialized(rest)
            if initialized:
                for declared, values, is_constant in initialized:
                    lines += self._variables(declared, values, is_constant, _PAD * depth)
                rest = rest[len(initialized) + sum(len(values) for _, values, _ in initialized) :]
            else:
                lines += self._stmt(rest.pop(0), depth)
        return lines

    def _variables(
        self, declared: DeclareVariables, values: Sequence[Expr], is_constant: bool, pad: str
    ) -> list[str]:
        """Returns variables with their initial values, as many per line as fit."""
        head = f"{pad}{'const ' if is_constant else ''}{declared.c_type} "
        each = [f"{name} = {self.bare(value)}" for name, value in zip(declared.names, values, strict=True)]
        first, *others = _packed(each, " " * len(head), ";")
        return [head + first[len(head) :], *others]

    def _stmt(self, stmt: Stmt, depth: int) -> list[str]:
        pad = _PAD * depth
        match stmt:
            case Do(FunctionCall() as call, comment):
                return self._call(call, f" /* {comment} */" if comment else "", pad)
            case Do(expr, _):
                return [f"{pad}{self.bare(expr)};"]
            case Assign(target, value, op):
                return [f"{pad}{self.inner(target)} {op} {self.bare(value)};"]
            case Define(variable, value):
                return [f"{pad}{self.variable(variable)} = {self.bare(value)};"]
            case DeclareVariables(c_type, names):
                return [f"{pad}{c_type} {', '.join(names)};"]
            case DeclareArray(c_type, name, length, _, is_aligned):
                words = self.dialect.aligned(4) if is_aligned else ""
                return [f"{pad}{c_type} {name}[{length.value}]{words};"]
            case DefinePointers(variable, rows):
                return self._pointers(variable, rows, pad)
            case DefineTable(c_type, name, numbers, notes):
                head = f"{pad}static {self.dialect.constant}{c_type} {name}[{len(numbers)}] = {{"
                return [head, *_with_notes(numbers, notes, pad + _PAD), f"{pad}}};"]
            case DefineShape(c_type, name, members):
                return self._struct(f"{pad}static const {c_type} {name} = {{", members, pad)
            case InstructionCall():
                return [f"{pad}{line}" for line in self._instruction(stmt).splitlines()]
            case Return(value):
                return [f"{pad}return;" if value is None else f"{pad}return {self.bare(value)};"]
            case Braces() | ForLoop() | If() | SwitchStatement():
                return self._nested(stmt, depth)

    def _nested(self, stmt: Braces | ForLoop | If | SwitchStatement, depth: int) -> list[str]:
        pad = _PAD * depth
        match stmt:
            case Braces(body):
                return [f"{pad}{{", *self.statements(body, depth + 1), f"{pad}}}"]
            case ForLoop(c_type, var, count, body, comment, first):
                above = [f"{pad}/* {comment} */"] if comment else []
                begin = f"{c_type} {var} = {'0' if first is None else self.bare(first)}" if c_type else ""
                head = f"{pad}for ({begin}; {var} < {self.bare(count)}; ++{var}) {{"
                return [*above, head, *self.statements(body, depth + 1), f"{pad}}}"]
            case If(condition, then, otherwise, comment):
                says = f" /* {comment} */" if comment else ""
                lines = [f"{pad}if ({self.bare(condition)}) {{{says}", *self.statements(then, depth + 1)]
                other = [f"{pad}}} else {{", *self.statements(otherwise, depth + 1)] if otherwise else []
                return [*lines, *other, f"{pad}}}"]
            case SwitchStatement(value, cases):
                return [f"{pad}switch ({self.bare(value)}) {{", *self._cases(cases, depth), f"{pad}}}"]

    def _cases(self, cases: Sequence[tuple[int, Sequence[Stmt]]], depth: int) -> Iterator[str]:
        pad = _PAD * depth
        for number, body in cases:
            lines = self.statements(body, 0)
            short = f"{pad}case {number}: {lines[0]} break;"
            if len(lines) == 1 and len(short) <= LINE:
                yield short
                continue
            yield f"{pad}case {number}:"
            yield from self.statements(body, depth + 1)
            yield f"{pad}{_PAD}break;"
        yield from (f"{pad}default:", f"{pad}{_PAD}break;")

    def _call(self, call: FunctionCall, comment: str, pad: str) -> list[str]:
        """Returns a call in one line, or with arguments in further lines."""
        given = [self.bare(a) for a in call.arguments]
        name = self._helper_name(call.function)
        line = f"{pad}{name}({', '.join(given)});{comment}"
        if len(line) <= LINE or comment:
            return [line]
        return [f"{pad}{name}(", *_packed(given, pad + _PAD, ");")]

    def _pointers(self, variable: TypedName, rows: Sequence[Expr], pad: str) -> list[str]:
        printed = [self.bare(row) for row in rows]
        head = f"{self.variable(variable)} = {{"
        line = f"{pad}{head}{', '.join(printed)}}};"
        if len(line) <= LINE:
            return [line]
        return [f"{pad}{head}", *_packed(printed, pad + _PAD, ""), f"{pad}}};"]

    def _struct(self, head: str, members: Sequence[tuple[str, int]], pad: str) -> list[str]:
        shown = [f".{member} = {value}" for member, value in members]
        line = f"{head}{', '.join(shown)}}};"
        return [line] if len(line) <= LINE else [head, *_packed(shown, pad + _PAD, ""), f"{pad}}};"]

    def _instruction(self, use: InstructionCall) -> str:
        given = {
            name: [self.bare(e) for e in value] if isinstance(value, tuple) else self.bare(value)
            for name, value in use.given
        }
        return self.helper_text(use.call, (use.instruction,)).format(**given)

    # ---- expressions ----

    def inner(self, expr: Expr) -> str:
        """Returns the expression as an operand of another."""
        match expr:
            case Number(value, _, _) if value < 0 or value not in _INT32:
                text = self.bare(expr)
                return f"({text})" if text.startswith("-") else text
            case Group(part):
                return f"({self.bare(part)})"
            case Linear():
                shown = self._linear(expr)
                is_sum = len(shown) > 1 or " " in shown[0]
                return f"({self.bare(expr)})" if is_sum else shown[0]
            case _:
                return self.bare(expr)

    def bare(self, expr: Expr) -> str:
        """Returns the expression without outer parentheses."""
        match expr:
            case Name(name) | Enumerator(name):
                return name
            case Number(value, _, suffix):
                if value not in _INT32 and not suffix:
                    return "INT64_MIN" if value == -(2**63) else f"{value}LL"
                return f"{value}{suffix}"
            case Literal(text):
                return text
            case Group(part):
                return self.bare(part)
            case Linear():
                return _added(self._linear(expr))
            case Sum(parts):
                return self._sum(parts)
            case Infix(op, left, right):
                return f"{self.inner(left)} {op} {self.inner(right)}"
            case Ternary(condition, yes, no):
                return f"{self.inner(condition)} ? {self.inner(yes)} : {self.inner(no)}"
            case CastTo(c_type, value):
                return f"({c_type}){self.inner(value)}"
            case Prefix(op, operand):
                return f"{op}{self.inner(operand)}"
            case Postfix(operand, op):
                return f"{self.inner(operand)}{op}"
            case Subscript(base, index):
                return f"{self.inner(base)}[{self.bare(index)}]"
            case FunctionCall(function, arguments):
                return f"{self._helper_name(function)}({', '.join(self.bare(a) for a in arguments)})"

    def _linear(self, linear: Linear) -> list[str]:
        parts = [
            name if _is_number(factor, 1) else f"{name} * {self._factor(factor)}"
            for name, factor in linear.terms
        ]
        match linear.constant:
            case Linear() as more:
                return [*parts, *self._linear(more)]
            case Number(0) if parts:
                return parts
        return [*parts, self._factor(linear.constant)]

    def _factor(self, count: Count) -> str:
        match count:
            case Linear((_,), Number(0)):
                return self.bare(count)
            case Linear():
                return f"({self.bare(count)})"
        return count.name if isinstance(count, Name) else str(count.value)

    def _sum(self, parts: Sequence[Expr]) -> str:
        shown = [p for p in parts if not _is_zero(p)] or [parts[-1]]
        if len(shown) == 1:
            return self.bare(shown[0])
        return " + ".join(self.bare(p) if isinstance(p, Linear) else self.inner(p) for p in shown)

    # ---- names ----

    def _helper_name(self, name: str) -> str:
        return self.names.get(name, name)

    def helper_text(self, text: str, stated: Sequence[str]) -> str:
        """Replaces helpers' names in hand-written text, which declares them, by their names in this file."""
        for name in sorted(stated, key=len, reverse=True):  # longest first: one may be a prefix of another
            text = text.replace(name, self._helper_name(name))
        return text


def _initialized(body: Sequence[Stmt]) -> list[_Initialized]:
    """Returns the declarations at the start of a body, if the next statements give all variables values."""
    declared = [each for each in takewhile(_is_declaration, body) if isinstance(each, DeclareVariables)]
    names = [name for each in declared for name in each.names]
    first = body[len(declared) : len(declared) + len(names)]
    values = dict(pair for stmt in first for pair in _assigned_by(stmt))
    if not declared or set(values) != set(names) or len(values) != len(names):
        return []
    if any(uses(values[name], later) for number, name in enumerate(names) for later in names[number:]):
        return []
    changed = frozenset(_changed_in(body[len(declared) + len(names) :]))
    return [(each, [values[n] for n in each.names], changed.isdisjoint(each.names)) for each in declared]


def _is_declaration(stmt: Stmt) -> bool:
    return isinstance(stmt, DeclareVariables)


def _assigned_by(stmt: Stmt) -> Iterator[tuple[str, Expr]]:
    match stmt:
        case Assign(Name(name), value, "="):
            yield name, value


def _changed_in(body: Sequence[Stmt]) -> Iterator[str]:
    """Yields the variables that statements change or may change."""
    for node in walk(tuple(body)):
        match node:
            case Assign(Name(name)) | Prefix(_, Name(name)) | Postfix(Name(name)):
                yield name
            case InstructionCall():
                yield from (part.name for part in walk(node.given) if isinstance(part, Name))


def shape_struct(function: str) -> str:
    """Returns the C type with which a shared function gets its numbers."""
    return f"struct {function}_shape"


def numbers_in_lines(numbers: Sequence[object], pad: str) -> list[str]:
    """Returns numbers with commas, as many per line as fit."""
    text = ", ".join(map(str, numbers)) + ","
    return wrap(text, LINE, initial_indent=pad, subsequent_indent=pad, break_on_hyphens=False)


def _with_notes(numbers: Sequence[int], notes: Sequence[tuple[int, str]], pad: str) -> Iterator[str]:
    """Yields the numbers in lines, and a line for each note."""
    begins = [0, *(first for first, _ in notes)]
    ends = [*begins[1:], len(numbers)]
    for begin, end, note in zip(begins, ends, ["", *(note for _, note in notes)], strict=True):
        if note:
            yield f"{pad}/* {note} */"
        if end > begin:
            yield from numbers_in_lines(numbers[begin:end], pad)


def _comment(lines: Sequence[str]) -> list[str]:
    if not lines:
        return []
    first, *others = lines
    *most, last = (f"/* {first}", *(f"   {line}" for line in others))
    return [*most, f"{last} */"]


def _is_number(count: Count, value: int) -> bool:
    return isinstance(count, Number) and count.value == value


def _is_zero(expr: Expr) -> bool:
    return isinstance(expr, Linear) and not expr.terms and _is_number(expr.constant, 0)


def _added(parts: Sequence[str]) -> str:
    first, *others = parts
    signed = ((" - ", part[1:]) if part.startswith("-") else (" + ", part) for part in others)
    return "".join((first, *chain.from_iterable(signed)))


def _declared(c_type: str, name: str) -> str:
    return f"{c_type}{name}" if c_type.endswith("*") else f"{c_type} {name}"


def _packed(items: Sequence[str], pad: str, end: str) -> list[str]:
    """Returns items with commas between them, as many per line as fit."""
    lines, line = [], pad + items[0]
    for item in items[1:]:
        if len(line) + len(f", {item}{end}") > LINE:
            lines.append(f"{line},")
            line = pad + item
        else:
            line += f", {item}"
    return [*lines, line + end]
