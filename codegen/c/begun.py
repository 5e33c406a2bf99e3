"""Merges declarations of variables and the assignments that follow to initialized definitions in C."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from codegen.c.tree import Assign, DeclareVariables, Expr, InstructionCall, Name, Postfix, Prefix, Stmt
from codegen.c.tree_walk import uses, walk

Begun = tuple[DeclareVariables, Sequence[Expr], bool]  # with the initial values; True if they are constant


def begun_variables(body: Sequence[Stmt]) -> list[Begun]:
    """Returns the declarations at the start of a body, if the next statements initialize all variables."""
    declared = [each for each in takewhile(_is_declaration, body) if isinstance(each, DeclareVariables)]
    names = [name for each in declared for name in each.names]
    first = body[len(declared) : len(declared) + len(names)]
    values = dict(pair for stmt in first for pair in _begun_by(stmt))
    if not declared or set(values) != set(names) or len(values) != len(names):
        return []
    if any(uses(values[name], later) for number, name in enumerate(names) for later in names[number:]):
        return []
    changed = frozenset(_changed_in(body[len(declared) + len(names) :]))
    return [(each, [values[n] for n in each.names], changed.isdisjoint(each.names)) for each in declared]


def _is_declaration(stmt: Stmt) -> bool:
    return isinstance(stmt, DeclareVariables)


def _begun_by(stmt: Stmt) -> Iterator[tuple[str, Expr]]:
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
