"""The kinds of values that a C type has, as far as registers and functions of floats depend on them."""

from __future__ import annotations

from enum import Enum

from codegen.c.tree_walk import Node, walk

_REALS = ("float", "const float")  # the beginnings of their types, pointers and vectors among them


class ValueKind(Enum):
    """The registers that a value is kept in."""

    WHOLE = "integers and pointers"
    REAL = "floats"
    VECTOR = "vectors"


def kind_of(c_type: str) -> ValueKind:
    if "*" in c_type:
        return ValueKind.WHOLE
    if "x" in c_type:  # as in int32x4_t
        return ValueKind.VECTOR
    return ValueKind.REAL if c_type.startswith(_REALS) else ValueKind.WHOLE


def has_reals(node: Node) -> bool:
    """True where something in the tree is a float, or points to some."""
    return any(getattr(part, "c_type", "").startswith(_REALS) for part in walk(node))
