"""Renames values that nodes read, and finds unused names for new values."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace

from aot.ir.graph import Node


def rename_reads(nodes: Iterable[Node], renamed: Mapping[str, str]) -> tuple[Node, ...]:
    """Returns the nodes, with inputs that are keys of `renamed` replaced by its values."""
    return tuple(
        replace(node, inputs=tuple(name and renamed.get(name, name) for name in node.inputs))
        for node in nodes
    )


def fresh_name(preferred: str, *taken: Container[str]) -> str:
    """Returns the preferred name, or that name with the first free number."""
    name, number = preferred, 2
    while any(name in names for names in taken):
        name, number = f"{preferred}#{number}", number + 1
    return name
