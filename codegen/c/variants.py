"""C code that selects among the sizes of a model: <model>_run_sized, over models of one size each."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from codegen.c.arenas import arenas_of
from codegen.c.emit import render
from codegen.model import TensorInfo
from codegen.version import VERSION

if TYPE_CHECKING:
    from codegen.compile import CompiledModel


def emit_variants(variants: Sequence[CompiledModel], open_inputs: Collection[str]) -> Mapping[str, str]:
    """Returns file name -> text. The first model is the largest; the function has its name and arenas."""
    first = variants[0]
    arenas = [arenas_of(each.plan.pool_bytes) for each in variants]
    context = {
        "name": first.name,
        "prefix": first.name.upper(),
        "version": VERSION,
        "source_name": first.planned.job.model.source_name,
        "arenas": [
            {
                "name": arena.name,
                "macro": f"{first.name}_SIZED_{arena.name}_BYTES".upper(),
                "bytes": max(each[number].bytes for each in arenas),
            }
            for number, arena in enumerate(arenas[0])
        ],
        "arena_parameters": ", ".join(f"void *{arena.name}" for arena in arenas[0]),
        "arena_names": ", ".join(arena.name for arena in arenas[0]),
        "sized": [(each.c_name, each.type.rank) for each in first.inputs if each.name in open_inputs],
        "variants": [_variant(first, each, open_inputs) for each in variants],
    }
    return {
        f"{first.name}_sizes.h": render("sizes.h.j2", context),
        f"{first.name}_sizes.c": render("sizes.c.j2", context),
    }


def _variant(
    first: CompiledModel, model: CompiledModel, open_inputs: Collection[str]
) -> Mapping[str, object]:
    pairs = list(zip(first.inputs, model.inputs, strict=True))
    return {
        "name": model.name,
        "inputs": _members(first.inputs, model.inputs),
        "outputs": _members(first.outputs, model.outputs),
        "is_it": [
            f"sizes->{ours.c_name}[{axis}] == {size}u"
            for ours, theirs in pairs
            if ours.name in open_inputs
            for axis, size in enumerate(theirs.type.shape)
        ],
        "says": ", ".join(
            f"{theirs.c_name} {list(theirs.type.shape)}" for ours, theirs in pairs if ours.name in open_inputs
        ),
    }


def _members(ours: Sequence[TensorInfo], theirs: Sequence[TensorInfo]) -> list[tuple[str, str]]:
    return [(its.c_name, our.c_name) for our, its in zip(ours, theirs, strict=True)]
