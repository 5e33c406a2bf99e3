"""Every integer literal of a proc in one fixed order: to read them off, or to put others in their places."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from codegen.loops.affine import Affine
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
    Index,
    Instruction,
    Invoke,
    Load,
    Place,
    Proc,
    Role,
    Stmt,
    Store,
)


@dataclass(frozen=True, slots=True)
class Site:
    """Where a literal stands."""

    says: str  # what a parameter in its place would be called; nothing where C does not show it
    is_room: bool = False  # the length of a local array: more does no harm


Change = Callable[[Site, int], int]
_UNSEEN = Site("")


def map_literals(proc: Proc, registers: frozenset[str], change: Change) -> Proc:
    """Each literal replaced. What lies in registers keeps its numbers: they are parts of names."""
    mapping = _Mapping(registers, change)
    body = mapping.body(proc.body)
    return replace(proc, params=tuple(mapping.buffer(p) for p in proc.params), body=body)


@dataclass(frozen=True, slots=True)
class _Mapping:
    registers: frozenset[str]
    change: Change

    def body(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(self.stmt(s) for s in body)

    def stmt(self, stmt: Stmt) -> Stmt:
        match stmt:
            case For(var, extent, body):
                # A loop of one is only a block by now.
                count = extent if extent == 1 else self.change(Site(f"{var}_count"), extent)
                return replace(stmt, extent=count, body=self.body(body))
            case Declare(buffer):
                return Declare(self.buffer(buffer))
            case Store(place, value) | Accumulate(place, value):
                return replace(stmt, place=self.place(place), value=self.expr(value))
            case Invoke(instruction, windows):
                return Invoke(self.instruction(instruction), tuple(self.place(w) for w in windows))

    def instruction(self, instruction: Instruction) -> Instruction:
        """The numbers its call gives are seen; its meaning has them, too, and must go along."""
        numbers = tuple((name, self.change(Site(name), value)) for name, value in instruction.numbers)
        kept = frozenset(p.name for p in instruction.params if p.role in (Role.LOCAL, Role.VECTOR))
        meaning = _Mapping(kept, lambda site, value: self.change(_UNSEEN, value))
        params = tuple(meaning.buffer(p) for p in instruction.params)
        return instruction.with_numbers(numbers, params, meaning.body(instruction.body))

    def expr(self, expr: Expr) -> Expr:
        match expr:
            case Load(place):
                return Load(self.place(place))
            case Element(place, number):
                return Element(self.place(place), self.expr(number))
            case Binary(op, left, right):
                return Binary(op, self.expr(left), self.expr(right))
            case Cast(dtype, value):
                return Cast(dtype, self.expr(value))
            case Apply(function, arguments):
                return Apply(function, tuple(self.expr(a) for a in arguments))
            case Choose(condition, yes, no):
                return Choose(self.expr(condition), self.expr(yes), self.expr(no))
            case Index(affine):
                return Index(self.affine(affine, "number"))
            case Const(int(value)):
                return Const(self.change(Site("number"), value))
            case Const():
                return expr

    def place(self, place: Place) -> Place:
        if place.buffer.name in self.registers:
            return place
        name = place.buffer.name
        index, row = self.affine(place.index, name), self.affine(place.row, f"{name}_row")
        return Place(self.buffer(place.buffer), index, row)

    def affine(self, affine: Affine, name: str) -> Affine:
        terms = tuple((v, self.change(Site(f"{name}_per_{v}"), factor)) for v, factor in affine.terms)
        return Affine(terms, self.change(Site(f"{name}_first"), affine.constant))

    def buffer(self, buffer: Buffer) -> Buffer:
        if buffer.name in self.registers:
            return buffer
        site = Site("", is_room=True) if buffer.role is Role.LOCAL else _UNSEEN
        return replace(buffer, elements=self.change(site, buffer.elements))
