"""Queries and changes a C tree: walks nodes, replaces nodes, finds uses and calls."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Hashable, Iterator
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, get_args

from codegen.c import tree
from codegen.c.tree import AnyHelper, Expr, FunctionCall, InstructionCall, Literal, Name, Stmt

# The types of fields without nodes. They are the majority, and trees are walked often.
_NO_NODES = ("str", "int", "bool", "tuple[str, ...]", "AnyHelper | None", "Instruction")
_CALLS = frozenset({FunctionCall, InstructionCall})
_EXPRESSIONS, _STATEMENTS = frozenset(get_args(Expr)), frozenset(get_args(Stmt))
Node = Any  # a dataclass of this file, or a tuple of nodes


def walk(node: Node, until: Collection[type] = ()) -> Iterator[Node]:
    """Yields every node, parents first, in textual order, without the parts of the types in `until`."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        kind = part.__class__
        if kind is tuple:
            waiting.extend(part[::-1])
        elif (parts := _parts_backwards(kind)) is not None:
            yield part
            if kind not in until:
                waiting.extend(parts(part))


def changed(node: Node, change: Callable[[Node], Node | None]) -> Node:
    """Returns the tree with nodes replaced by the result of `change`, or with changed parts if it is None."""
    if isinstance(node, tuple):
        parts = [changed(part, change) for part in node]
        return node if all(map(operator.is_, parts, node)) else tuple(parts)
    names = _field_names(node.__class__)
    if names is None:
        return node
    other = change(node)
    if other is not None:
        return other
    new = {}
    for name in names:
        part = getattr(node, name)
        changed_part = changed(part, change)
        if changed_part is not part:
            new[name] = changed_part
    return replace(node, **new) if new else node


@cache
def _field_names(kind: Hashable) -> tuple[str, ...] | None:
    """Returns the fields of a node that may hold nodes, or None for other types."""
    assert isinstance(kind, type)
    if kind.__module__ != tree.__name__ or not is_dataclass(kind):
        return None
    return tuple(f.name for f in fields(kind) if f.type not in _NO_NODES)


@cache
def _parts_backwards(kind: type) -> Callable[[Node], tuple[Node, ...]] | None:
    """Returns a function that yields a node's parts, last first, or None for other types."""
    names = _field_names(kind)
    if names is None:
        return None
    if not names:
        return lambda node: ()
    parts = operator.attrgetter(*reversed(names))
    return parts if len(names) > 1 else lambda node: (parts(node),)


def uses(node: Node, name: str) -> bool:
    """Returns True if a variable of that name is read or written anywhere in the tree."""
    return any(isinstance(part, Name) and part.name == name for part in walk(node))


def headers_of(node: Node) -> frozenset[str]:
    """Returns the headers that declare constants of the tree."""
    return frozenset(part.header for part in walk(node) if isinstance(part, Literal) and part.header)


def helpers_of(node: Node) -> tuple[AnyHelper, ...]:
    """Returns the helpers that the tree calls, in the order of first use; arguments precede calls."""
    found: dict[str, AnyHelper] = {}
    _add_helpers(node, found)
    return tuple(found.values())


def _add_helpers(node: Node, found: dict[str, AnyHelper]) -> None:
    kind = node.__class__
    if kind is tuple:
        for part in node:
            _add_helpers(part, found)
    elif (parts := _parts_backwards(kind)) is not None:
        for part in parts(node)[::-1]:
            _add_helpers(part, found)
        if kind in _CALLS and node.helper is not None:
            found.setdefault(node.helper.name, node.helper)


def statements_of(node: Node) -> Iterator[Stmt]:
    return (part for part in walk(node, until=_EXPRESSIONS) if part.__class__ in _STATEMENTS)
