"""Compiles a proc to Python code with interval arithmetic, which is faster than interpreting its tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from aot.ir.types import DType
from codegen.loops.affine import Affine
from codegen.loops.ir import (
    Accumulate,
    Apply,
    Binary,
    Body,
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
    Stmt,
    Store,
)
from deploy.proving.intervals.cells import BINARY, Cells, Hull, Interval, Notes, cast, choose, limits_of

_PAD = " "
_COMPARING = ("<", "==")


class IntervalProgram:
    """A proc that runs on buffers of intervals, with the hulls of its local buffers."""

    def __init__(self, proc: Proc, notes: Notes) -> None:
        self.hulls: list[Hull] = []
        self._notes = notes
        self._known: dict[str, Any] = {"store": notes.store, "accumulate": notes.accumulate}
        self._known |= {"element": notes.element, "within": self._within, "new": _new, "choose": choose}
        self._instructions: dict[int, tuple[Instruction, str]] = {}
        self._texts: list[str] = []
        name = self._function("proc", proc.params, proc.body)
        exec(compile("\n".join(self._texts), proc.name, "exec"), self._known)
        self._run: Callable[..., None] = self._known[name]

    def run(self, buffers: Sequence[Cells]) -> None:
        """Runs the proc once, with buffers in the order of its parameters."""
        self._run(*(word for cells in buffers for word in (cells, 0)))

    def _within(self, value: Interval, limits: tuple[int, int], what: str) -> Interval:
        return None if value is None else self._notes.within(value, limits, what)

    def _function(self, name: str, params: Sequence[Buffer], body: Body) -> str:
        """Defines a function. Each buffer is passed with the index of its first element."""
        given = ", ".join(f"b_{p.name}, o_{p.name}" for p in params)
        lines = [f"def {name}({given}):", *self._body(body, 1), f"{_PAD}return"]
        self._texts.append("\n".join(lines))
        return name

    def _body(self, body: Body, depth: int) -> Iterator[str]:
        for stmt in body:
            yield from self._stmt(stmt, depth)

    def _stmt(self, stmt: Stmt, depth: int) -> Iterator[str]:
        pad = _PAD * depth
        match stmt:
            case For(var, extent, body):
                yield f"{pad}for v_{var} in range({extent}):"
                yield from self._body(body, depth + 1)
                if not body:
                    yield f"{pad}{_PAD}pass"
            case Declare(buffer):
                hull = Hull(buffer.name, limits_of(buffer.dtype))
                self.hulls.append(hull)
                yield f"{pad}b_{buffer.name} = new({buffer.elements}, {self._name(hull)})"
                yield f"{pad}o_{buffer.name} = 0"
            case Store(place, Apply() as value):  # the function guarantees that its result fits
                fitting = f"{self._name(cast)}({limits_of(place.buffer.dtype)}, {self._expr(value)})"
                yield f"{pad}store({self._place(place)}, {fitting})"
            case Store(place, value):
                yield f"{pad}store({self._place(place)}, {self._expr(value)})"
            case Accumulate(place, value):
                yield f"{pad}accumulate({self._place(place)}, {self._expr(value)})"
            case Invoke(instruction, windows):
                given = ", ".join(self._place(window) for window in windows)
                yield f"{pad}{self._instruction(instruction)}({given})"

    def _instruction(self, instruction: Instruction) -> str:
        known = self._instructions.get(id(instruction))
        if known is None:
            known = instruction, f"i_{len(self._instructions)}"
            self._instructions[id(instruction)] = known
            self._function(known[1], instruction.params, instruction.body)
        return known[1]

    def _place(self, place: BufferPlace) -> str:
        """Returns an element's position. The row is ignored, because all rows are alike."""
        name = place.buffer.name
        return f"b_{name}, o_{name} + {_affine(place.index)}"

    def _name(self, value: object) -> str:
        name = f"k_{len(self._known)}"
        self._known[name] = value
        return name

    def _expr(self, expr: Expr) -> str:
        match expr:
            case Const(value):
                return str((value, value)) if isinstance(value, int) else "None"
            case Index(affine):
                return f"({_affine(affine)},) * 2"
            case Load(place):
                return f"b_{place.buffer.name}.at[o_{place.buffer.name} + {_affine(place.index)}]"
            case Element(place, number):
                return f"element({self._place(place)}, {self._expr(number)})"
            case Binary(op, left, right):
                made = f"{self._name(BINARY[op])}({self._expr(left)}, {self._expr(right)})"
                limits = limits_of(dtype_of(expr))
                return made if op in _COMPARING else f"within({made}, {limits}, {f'a {op} in it'!r})"
            case Cast(dtype, value):
                return f"{self._name(cast)}({limits_of(dtype)}, {self._expr(value)})"
            case Apply(function, arguments):
                given = "".join(f"{self._expr(each)}, " for each in arguments)
                return f"{self._name(self._notes.apply)}({self._name(function)}, ({given}))"
            case Choose(condition, yes, no):
                parts = f"lambda: {self._expr(yes)}, lambda: {self._expr(no)}"
                return f"choose({self._expr(condition)}, {parts})"


def _new(elements: int, hull: Hull) -> Cells:
    """Returns an uninitialized buffer, which may contain any value."""
    return Cells([hull.limits] * elements, hull)


def _affine(affine: Affine) -> str:
    return " + ".join([*(f"{factor} * v_{name}" for name, factor in affine.terms), f"({affine.constant})"])


def dtype_of(expr: Expr) -> DType:
    """Returns the type in which C evaluates an expression: the wider operand's, at least int."""
    match expr:
        case Const(value):
            return DType.F32 if isinstance(value, float) else _of_number(value)
        case Index():
            return DType.I32
        case Load(place) | Element(place, _):
            return _promoted(place.buffer.dtype)
        case Binary(op, left, right):
            return DType.I32 if op in _COMPARING else _wider(dtype_of(left), dtype_of(right))
        case Cast(dtype, _):
            return _promoted(dtype)
        case Apply(function, _):
            return _promoted(function.result)
        case Choose(_, yes, no):
            return _wider(dtype_of(yes), dtype_of(no))


_RANKS = (DType.I32, DType.U32, DType.I64, DType.U64, DType.F32)


def _wider(a: DType, b: DType) -> DType:
    return max(a, b, key=_RANKS.index)


def _promoted(dtype: DType) -> DType:
    return dtype if dtype in _RANKS else DType.I32


def _of_number(value: int) -> DType:
    low, high = DType.I32.limits
    return DType.I32 if low <= value <= high else DType.I64
