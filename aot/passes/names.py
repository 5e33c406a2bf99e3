"""Names of values while nodes change: reads that move to another value, names that are not taken yet."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace

from aot.ir.graph import Node


def rename_reads(nodes: Iterable[Node], renamed: Mapping[str, str]) -> tuple[Node, ...]:
    """Nodes that read a key of `renamed` read its value instead."""
    return tuple(
        replace(node, inputs=tuple(name and renamed.get(name, name) for name in node.inputs))
        for node in nodes
    )


def fresh_name(wish: str, *taken: Container[str]) -> str:
    """The wish, or the wish with the first free number."""
    name, number = wish, 2
    while any(name in names for names in taken):
        name, number = f"{wish}#{number}", number + 1
    return name
