"""Parses a proc from its text. Python's parser reads the syntax; this module adds the meaning."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from aot.errors import InputError, did_you_mean
from aot.ir.types import DType
from codegen.loops.affine import Affine, variable
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
    Role,
    ScalarFunction,
    Stmt,
    Store,
)
from codegen.loops.operators import OPERATORS
from codegen.loops.text import Named

_OPERATORS = {each.syntax: op for op, each in OPERATORS.items()}
_ROLES = {role.value: role for role in Role}
_DTYPES = {dtype.value: dtype for dtype in DType}
_LOOPS = {"range": False, "unrolled": True}  # value: whether the loop is unrolled


def parse_proc(text: str, named: Mapping[str, Named] | None = None) -> Proc:
    """Returns the proc that a text describes. `named` has the instructions and functions that it calls.

    Raises InputError with the line if the text is not a valid proc.
    """
    try:
        module = ast.parse(text)
        reader = _Reader(text.splitlines(), named or {})
        match module.body:
            case [ast.FunctionDef() as function]:
                return reader.proc(function)
    except SyntaxError as error:
        line = f"line {error.lineno}" if error.lineno else ""
        raise InputError(f"not Python: {error.msg}", line) from None
    except ValueError as error:  # null bytes
        raise InputError(f"not Python: {error}") from None
    except RecursionError:
        raise InputError("an expression is nested too deeply") from None
    raise InputError("the text of a proc must be one function", hint="def name(x: input(i8[4]), ...): ...")


@dataclass
class _Reader:
    """Parses one function. A buffer or loop variable is known after its declaration."""

    lines: Sequence[str]
    named: Mapping[str, Named]
    buffers: dict[str, Buffer] = field(default_factory=dict)
    loops: list[str] = field(default_factory=list)

    def wrong(self, node: ast.AST, what: str, hint: str = "") -> InputError:
        """Returns an error that quotes the node's line."""
        line = getattr(node, "lineno", 1)
        return InputError(what, f"line {line}: {self.lines[line - 1].strip()}", hint)

    def proc(self, function: ast.FunctionDef) -> Proc:
        given = function.args
        if given.defaults or given.vararg or given.kwonlyargs or given.kwarg or given.posonlyargs:
            raise self.wrong(function, "a proc needs plain parameters, each with an annotation")
        if function.decorator_list or function.returns:
            raise self.wrong(function, "a proc must have no decorators and no return type")
        params = tuple(self.declared(arg, arg.arg, arg.annotation) for arg in function.args.args)
        return Proc(function.name, params, self.body(function.body))

    # ---- buffers ----

    def declared(self, node: ast.AST, name: str, annotation: ast.expr | None) -> Buffer:
        """Returns the buffer that an annotation declares, and adds it to the known names."""
        match annotation:
            case ast.Call(
                func=ast.Name(id=role),
                args=[ast.Subscript(value=ast.Name(id=dtype), slice=elements)],
                keywords=keywords,
            ) if role in _ROLES and dtype in _DTYPES:
                more = {str(word.arg): self.literal(word.value) for word in keywords}
            case _:
                hint = f"for example {name}: input(i8[16]); known: {', '.join(_ROLES)}; {', '.join(_DTYPES)}"
                raise self.wrong(
                    node, f"{name} needs an annotation with its role, type and number of elements", hint
                )
        unknown = set(more) - {"rows", "may_alias", "vector_type"}
        if unknown:
            raise self.wrong(node, f"a buffer has no {min(unknown)}", "known: rows, may_alias, vector_type")
        if name in self.loops or (name in self.buffers and _ROLES[role] is not Role.LOCAL):
            raise self.wrong(node, f"{name} is already defined", "rename the buffer")
        if name in self.buffers and self.buffers[name].role is not Role.LOCAL:
            raise self.wrong(node, f"{name} is already a parameter", "rename the local")
        made = Buffer(
            name,
            _DTYPES[dtype],
            self.size(elements, self.literal(elements)),
            _ROLES[role],
            rows=self.size(node, more.get("rows", 1)),
            may_alias=bool(more.get("may_alias", False)),
            vector_type=str(more.get("vector_type", "")),
        )
        self.buffers[name] = made
        return made

    def literal(self, node: ast.expr) -> int | float | str:
        match node:
            case ast.Constant(value=int() | float() | str() as value):
                return value
        raise self.wrong(node, f"{ast.unparse(node)} is not a literal")

    def size(self, node: ast.AST, found: float | str) -> int:
        if isinstance(found, bool) or not isinstance(found, int) or found < 0:
            raise self.wrong(node, f"a buffer cannot have {found!r} elements or rows", "a whole number")
        return found

    # ---- statements ----

    def body(self, nodes: Sequence[ast.stmt]) -> tuple[Stmt, ...]:
        return tuple(stmt for node in nodes for stmt in self.stmt(node))

    def stmt(self, node: ast.stmt) -> Iterator[Stmt]:
        match node:
            case ast.Pass():
                pass
            case ast.For(
                target=ast.Name(id=var),
                iter=ast.Call(
                    func=ast.Name(id=kind), args=[ast.Constant(value=int() as extent)], keywords=words
                ),
                orelse=[],
            ) if kind in _LOOPS:
                yield self.loop(node, For(var, extent, (), _LOOPS[kind], self.note(words)))
            case ast.AnnAssign(target=ast.Name(id=name), value=None):
                yield Declare(self.declared(node, name, node.annotation))
            case ast.Assign(targets=[target], value=value):
                yield Store(self.element(target), self.expr(value))
            case ast.AugAssign(target=target, op=ast.Add(), value=value):
                yield Accumulate(self.element(target), self.expr(value))
            case ast.Expr(value=ast.Call(func=ast.Name(id=name), args=arguments, keywords=[])):
                yield self.invoke(node, name, arguments)
            case _:
                raise self.wrong(
                    node,
                    "this statement is not supported in a proc",
                    "known: for i in range(4), for i in unrolled(4), a: local(i32[1]), a[0] = ..., "
                    "a[0] += ..., instruction(a[0:], ...)",
                )

    def note(self, words: Sequence[ast.keyword]) -> str:
        """Returns the comment to print above the loop in C."""
        wrong = next((word for word in words if word.arg != "note"), None)
        if wrong is not None:
            raise self.wrong(wrong.value, f"a loop has no {wrong.arg}", "known: note")
        return "".join(str(self.literal(word.value)) for word in words)

    def loop(self, node: ast.For, loop: For) -> For:
        var, extent = loop.var, loop.extent
        if var in self.loops or var in self.buffers:
            raise self.wrong(node, f"{var} is already defined", "rename the loop")
        if extent < 0:
            raise self.wrong(node, f"a loop cannot run {extent} times")
        self.loops.append(var)
        body = self.body(node.body)
        self.loops.pop()
        return replace(loop, body=body)

    def invoke(self, node: ast.stmt, name: str, arguments: Sequence[ast.expr]) -> Invoke:
        instruction = self.known(node, name)
        if not isinstance(instruction, Instruction):
            raise self.wrong(node, f"the value of {name} is not used")
        if len(arguments) != len(instruction.params):
            raise self.wrong(node, f"{name} needs {len(instruction.params)} windows, not {len(arguments)}")
        return Invoke(instruction, tuple(self.window(argument) for argument in arguments))

    def known(self, node: ast.AST, name: str) -> Named:
        if name not in self.named:
            raise self.wrong(
                node,
                f"{name} is not an instruction or function known here{did_you_mean(name, self.named)}",
                "pass the instructions and functions that the text calls",
            )
        return self.named[name]

    # ---- places ----

    def element(self, node: ast.expr) -> BufferPlace:
        buffer, subscripts = self.subscripted(node)
        if any(isinstance(each, ast.Slice) for each in subscripts):
            raise self.wrong(node, f"{ast.unparse(node)} is a window, but an element is needed")
        return self.place(node, buffer, subscripts)

    def window(self, node: ast.expr) -> BufferPlace:
        buffer, (*rows, last) = self.subscripted(node)
        if not (isinstance(last, ast.Slice) and last.lower is not None and last.upper is last.step is None):
            raise self.wrong(node, f"{ast.unparse(node)} is not a window", f"for example {buffer.name}[0:]")
        return self.place(node, buffer, [*rows, last.lower])

    def subscripted(self, node: ast.expr) -> tuple[Buffer, list[ast.expr]]:
        """Returns the buffer and its subscripts."""
        found: list[ast.expr] = []
        inner = node
        while isinstance(inner, ast.Subscript):
            found.insert(0, inner.slice)
            inner = inner.value
        if not (isinstance(inner, ast.Name) and found):
            raise self.wrong(node, f"{ast.unparse(node)} is not an element of a buffer")
        if inner.id not in self.buffers:
            near = did_you_mean(inner.id, self.buffers)
            raise self.wrong(node, f"there is no buffer {inner.id}{near}")
        return self.buffers[inner.id], found

    def place(self, node: ast.expr, buffer: Buffer, subscripts: Sequence[ast.expr]) -> BufferPlace:
        has_rows = buffer.is_rows or buffer.rows > 1
        if len(subscripts) > 2 or (has_rows and len(subscripts) < 2):
            raise self.wrong(
                node,
                f"{buffer.name} has {'rows' if has_rows else 'no rows'}, {ast.unparse(node)} "
                f"has {len(subscripts)} subscripts",
                f"write {buffer.name}[row][element]" if has_rows else f"write {buffer.name}[element]",
            )
        row = self.affine(subscripts[0]) if len(subscripts) == 2 else Affine()
        return BufferPlace(buffer, self.affine(subscripts[-1]), row)

    def affine(self, node: ast.expr) -> Affine:
        """Parses a sum of loop variables with integer factors."""
        match node:
            case ast.Constant(value=int() as value):
                return Affine(constant=value)
            case ast.Name(id=name) if name in self.loops:
                return variable(name)
            case ast.Name(id=name):
                raise self.wrong(node, f"there is no loop {name} around this{did_you_mean(name, self.loops)}")
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.affine(operand) * -1
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self.affine(left) + self.affine(right)
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                return self.affine(left) - self.affine(right)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                factors = self.affine(left), self.affine(right)
                if factors[1].is_constant:
                    return factors[0] * factors[1].constant
                if factors[0].is_constant:
                    return factors[1] * factors[0].constant
        raise self.wrong(node, f"{ast.unparse(node)} is not a sum of loop variables times numbers")

    # ---- expressions ----

    def expr(self, node: ast.expr) -> Expr:
        match node:
            case ast.Constant(value=int() | float() as value):
                if isinstance(value, int) and value >= 2**64:
                    raise self.wrong(node, f"{value} does not fit 64 bits")
                return Const(value)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return Const(-self.number(operand))
            case ast.Name(id="inf" | "nan"):
                return Const(self.number(node))
            case ast.Name(id=name) if name in self.loops:
                raise self.wrong(node, f"{name} is a loop, not a value", f"write index({name})")
            case ast.Subscript(value=ast.Subscript(slice=ast.Slice()) as table, slice=number):
                return Element(self.window(table), self.expr(number))
            case ast.Subscript():
                return Load(self.element(node))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return Binary(_OPERATORS[type(op)], self.expr(left), self.expr(right))
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _OPERATORS:
                return Binary(_OPERATORS[type(op)], self.expr(left), self.expr(right))
            case ast.IfExp(test=test, body=yes, orelse=no):
                return Choose(self.expr(test), self.expr(yes), self.expr(no))
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self.call(node, name, arguments)
        raise self.wrong(node, f"{ast.unparse(node)} is not a value that a proc can compute")

    def number(self, node: ast.expr) -> int | float:
        match node:
            case ast.Constant(value=int() | float() as value):
                return value
            case ast.Name(id="inf" | "nan" as name):
                return float(name)
        raise self.wrong(node, f"{ast.unparse(node)} is not a number")

    def call(self, node: ast.expr, name: str, arguments: Sequence[ast.expr]) -> Expr:
        match name, arguments:
            case "index", [value]:
                return Index(self.affine(value))
            case str(), [value] if name in _DTYPES:
                return Cast(_DTYPES[name], self.expr(value))
            case str(), [left, right] if name in OPERATORS:
                return Binary(name, self.expr(left), self.expr(right))
        function = self.known(node, name)
        if not isinstance(function, ScalarFunction):
            raise self.wrong(node, f"{name} is an instruction and has no value")
        return Apply(function, tuple(self.expr(argument) for argument in arguments))
