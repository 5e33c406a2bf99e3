"""Kinds of values by C type, as far as registers and float functions depend on them."""

from __future__ import annotations

from enum import Enum

from codegen.c.tree_walk import Node, walk

_FLOATS = ("float", "const float")  # prefixes of float types, including pointers and vectors


class ValueKind(Enum):
    """The kind of register that holds a value."""

    WHOLE = "integers and pointers"
    REAL = "floats"
    VECTOR = "vectors"


def kind_of(c_type: str) -> ValueKind:
    if "*" in c_type:
        return ValueKind.WHOLE
    if "x" in c_type:  # as in int32x4_t
        return ValueKind.VECTOR
    return ValueKind.REAL if c_type.startswith(_FLOATS) else ValueKind.WHOLE


def has_floats(node: Node) -> bool:
    """Returns True if the tree contains a float or a pointer to floats."""
    return any(getattr(part, "c_type", "").startswith(_FLOATS) for part in walk(node))
