"""Template variables for the memories of a project's models."""

from __future__ import annotations

from typing import Any

from codegen.c.arenas import Arena
from platforms.project import ProjectSource


def variable(number: int, arena: Arena) -> str:
    """Returns the C name of an arena's array, which also names its linker section."""
    return f"solder_{arena.name}" if number else "solder_arena"


def arena_words(source: ProjectSource) -> dict[str, Any]:
    macro = source.name.upper()
    arenas: list[dict[str, Any]] = [
        {
            "variable": variable(number, arena),
            "parameter": arena.name,
            "bytes": arena.bytes,
            "macro": f"{macro}_{arena.name.upper()}_BYTES",
            "size": arena.bytes if source.beside else f"{macro}_{arena.name.upper()}_BYTES",
            "purpose": _purpose(source, arena),
        }
        for number, arena in enumerate(source.arenas)
    ]
    return {
        "arena_bytes": source.arena_bytes,
        "arenas": arenas,
        "arena_variables": ", ".join(arena["variable"] for arena in arenas),
        "arena_parameters": ", ".join(arena["parameter"] for arena in arenas),
    }


def _purpose(source: ProjectSource, arena: Arena) -> str:
    if len(source.arenas) > 1:
        return f"the model's working memory, for {arena.region}"
    if source.beside:
        return "of the model that needs most: all models share it"
    return "all working memory of the model"
