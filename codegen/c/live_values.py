"""Counts the values that are live at once in a function, which its compiler needs registers for.

A value is live from its first mention to its last, and through a whole loop that it enters from outside.
Inline assembly needs registers besides its operands.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from codegen.c.c_types import ValueKind, kind_of
from codegen.c.tree import (
    Braces,
    DeclareArray,
    DeclareVariables,
    Define,
    DefinePointers,
    DefineTable,
    ForLoop,
    FunctionDefinition,
    If,
    InstructionCall,
    Linear,
    Name,
    Stmt,
    SwitchStatement,
)
from codegen.c.tree_walk import Node, walk


@dataclass(frozen=True, slots=True)
class LiveValues:
    """The maximum number of live values, separately for each kind."""

    whole: int  # integers and pointers
    floats: int
    vectors: int


def live_values(function: FunctionDefinition) -> LiveValues:
    lives = _Lives()
    for param in function.params:
        lives.begin(param.name, param.c_type)
    lives.block(function.body)
    return LiveValues(*map(lives.most, ValueKind))


@dataclass
class _Lives:
    """Walks statements in textual order and numbers positions."""

    place: int = 0
    kinds: dict[str, ValueKind] = field(default_factory=dict)
    first: dict[str, int] = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)
    depths: dict[str, int] = field(default_factory=dict)  # loops around the first mention
    declared: dict[str, str] = field(default_factory=dict)  # C types of variables not mentioned yet
    loops: list[set[str]] = field(default_factory=list)  # values used in each loop from outside
    ended: list[tuple[ValueKind, int, int]] = field(default_factory=list)  # names that were used again
    beside: Counter[int] = field(default_factory=Counter)  # registers of inline assembly, by position

    def begin(self, name: str, c_type: str) -> None:
        if name in self.kinds:
            self.ended.append((self.kinds[name], self.first[name], self.last[name]))
        self.kinds[name] = kind_of(c_type)
        self.first[name] = self.last[name] = self.place
        self.depths[name] = len(self.loops)

    def block(self, body: tuple[Stmt, ...]) -> None:
        for stmt in body:
            self.place += 1
            self._statement(stmt)

    def _statement(self, stmt: Stmt) -> None:
        match stmt:
            case ForLoop():
                self._loop(stmt)
            case If(condition, then, otherwise):
                self._mention(condition)
                self.block(then)
                self.block(otherwise)
            case Braces(body):
                self.block(body)
            case SwitchStatement(value, cases):
                self._mention(value)
                for _, body in cases:
                    self.block(body)
            case DeclareVariables(c_type, names, _):
                self.declared |= dict.fromkeys(names, c_type)
            case Define(variable, value):
                self._mention(value)
                self.begin(variable.name, variable.c_type)
            case DefinePointers(_, rows):
                self._mention(rows)
            case DeclareArray() | DefineTable():
                pass
            case InstructionCall():
                self._mention(stmt)
                self.beside[self.place] = stmt.helper.own_registers
            case _:
                self._mention(stmt)

    def _loop(self, loop: ForLoop) -> None:
        self.begin(loop.var, loop.c_type or "int32_t")
        self._mention((loop.first, loop.count))
        self.loops.append({loop.var})
        self.block(loop.body)
        self.place += 1
        for name in self.loops.pop():
            self.last[name] = self.place

    def _mention(self, node: Node) -> None:
        for part in walk(node):
            if isinstance(part, Name):
                self._use(part.name)
            elif isinstance(part, Linear):
                for variable, _ in part.terms:
                    self._use(variable)

    def _use(self, name: str) -> None:
        if name in self.declared:
            self.begin(name, self.declared.pop(name))
        if name not in self.first:
            return
        self.last[name] = max(self.last[name], self.place)
        if self.depths[name] < len(self.loops):
            self.loops[self.depths[name]].add(name)

    def most(self, kind: ValueKind) -> int:
        lives = [*self.ended, *((its, self.first[name], self.last[name]) for name, its in self.kinds.items())]
        changes: Counter[int] = Counter()
        for first, last in ((first, last) for its, first, last in lives if its == kind):
            changes[first] += 1
            changes[last + 1] -= 1
        places = sorted({*changes, *self.beside})
        now, found = 0, 0
        for place in places:
            now += changes[place]
            found = max(found, now + self.beside[place] * (kind is ValueKind.WHOLE))
        return found
