"""Looking through a tree of C: every node, nodes replaced, what a tree uses and calls."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, get_args

from codegen.c import tree
from codegen.c.tree import AnyHelper, Expr, FunctionCall, InstructionCall, Literal, Name, Stmt

# The types of fields that hold no nodes: those are most fields, and trees are walked often.
_NO_NODES = ("str", "int", "bool", "tuple[str, ...]", "AnyHelper | None", "Instruction")
_EXPRESSIONS, _STATEMENTS = frozenset(get_args(Expr)), frozenset(get_args(Stmt))
Node = Any  # a dataclass of this file, or a tuple of nodes


def walk(node: Node, until: Collection[type] = ()) -> Iterator[Node]:
    """Every node of a tree, parents first, in the order of the text; without the parts of kinds `until`."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, tuple):
            waiting.extend(reversed(part))
        elif (names := _field_names(part.__class__)) is not None:
            yield part
            if part.__class__ not in until:
                waiting.extend([getattr(part, name) for name in reversed(names)])


def changed(node: Node, change: Callable[[Node], Node | None]) -> Node:
    """The tree with nodes replaced: by what `change` gives for them, or else by themselves with new parts."""
    if isinstance(node, tuple):
        return tuple(changed(part, change) for part in node)
    names = _field_names(node.__class__)
    if names is None:
        return node
    other = change(node)
    if other is not None:
        return other
    return replace(node, **{name: changed(getattr(node, name), change) for name in names})


def _parts_of(node: Node) -> Iterator[Node]:
    return (getattr(node, name) for name in _field_names(node.__class__) or ())


@cache
def _field_names(kind: Hashable) -> tuple[str, ...] | None:
    """The fields of a node that may hold nodes; None for what is no node."""
    assert isinstance(kind, type)
    if kind.__module__ != tree.__name__ or not is_dataclass(kind):
        return None
    return tuple(f.name for f in fields(kind) if f.type not in _NO_NODES)


def uses(node: Node, name: str) -> bool:
    """True where a variable of that name is read or written anywhere in the tree."""
    return any(isinstance(part, Name) and part.name == name for part in walk(node))


def headers_of(node: Node) -> frozenset[str]:
    """The headers that declare constants of the tree."""
    return frozenset(part.header for part in walk(node) if isinstance(part, Literal) and part.header)


def helpers_of(node: Node) -> tuple[AnyHelper, ...]:
    """The helpers that the tree calls, in the order of first use: arguments come before calls."""
    found: dict[str, AnyHelper] = {}

    def look(node: Node) -> None:
        for part in node if isinstance(node, tuple) else _parts_of(node):
            look(part)
        if isinstance(node, FunctionCall | InstructionCall) and node.helper is not None:
            found.setdefault(node.helper.name, node.helper)

    look(node)
    return tuple(found.values())


def statements_of(node: Node) -> Iterator[Stmt]:
    return (part for part in walk(node, until=_EXPRESSIONS) if part.__class__ in _STATEMENTS)
