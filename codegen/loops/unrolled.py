"""Expands loops marked as unrolled. The result matches the C code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from codegen.loops.affine import Affine, to_affine
from codegen.loops.ir import Declare, For, Stmt, substitute


def expand_unrolled(
    body: tuple[Stmt, ...], values: Mapping[str, Affine] = MappingProxyType({})
) -> tuple[Stmt, ...]:
    """Expands unrolled loops and loops of extent 1. `values` has the variables of expanded outer loops."""
    result: list[Stmt] = []
    for stmt in body:
        if not isinstance(stmt, For):
            result.append(substitute(stmt, values))
        elif stmt.unrolled or stmt.extent == 1:
            for value in range(stmt.extent):
                once = expand_unrolled(stmt.body, {**values, stmt.var: to_affine(value)})
                declares = any(isinstance(s, Declare) for s in once)
                result.extend((For(stmt.var, 1, once),) if declares else once)
        else:
            result.append(replace(stmt, body=expand_unrolled(stmt.body, values)))
    match result:
        case [For(_, 1, alone)]:  # a block with one statement needs no block of this loop
            return alone
    return tuple(result)
