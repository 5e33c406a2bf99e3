"""Builds a model's generated C as a standalone program, for tools on this computer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from artifact.artifact import Artifact
from codegen.model import TensorInfo
from platforms.arena_words import arena_words
from platforms.project import project_source
from platforms.templates import filled

_GENERATED = (".c", "_weights.c", "_describe.c")  # suffixes of source names
# Inline assembly, and compiler headers that declare intrinsics.
_OF_A_CORE = re.compile(r"\basm\b|__asm__|^#include <arm_\w+\.h>", re.MULTILINE)


def foreign_sources(artifact: Artifact) -> tuple[str, ...]:
    """Returns the source files that are not generated, such as an accelerator's library."""
    generated = {f"{artifact.name}{end}" for end in _GENERATED}
    return tuple(sorted(set(artifact.sources) - generated))


def obstacle(artifact: Artifact) -> str:
    """Returns why the C cannot be a program for this computer's tools, or ""."""
    if artifact.facts.target.constant_space:
        return f"constants lie in {artifact.facts.target.constant_space}, which is not C"
    if foreign := foreign_sources(artifact):
        return f"it calls code that is not generated: {', '.join(foreign)}"
    if _OF_A_CORE.search(artifact.sources[f"{artifact.name}.c"]):
        return "its C has instructions of a core: compile it with --dialect strict"
    return ""


def driver(artifact: Artifact, name: str, **words: object) -> str:
    """Renders the C driver that calls the model; `words` are variables of only this template."""
    source = project_source(artifact)
    return filled(
        "proving",
        f"{name}.jinja",
        name=source.name,
        macro=source.name.upper(),
        inputs=_tensors(source.inputs),
        outputs=_tensors(source.outputs),
        keeps_state=source.keeps_state,
        **arena_words(source),
        **words,
    )


def write_files(files: Mapping[str, str], folder: Path) -> None:
    """Writes texts by file name, with the same line ends on every system."""
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")


def _tensors(tensors: Sequence[TensorInfo]) -> list[dict[str, object]]:
    return [
        {"c_name": each.c_name, "c_type": each.type.dtype.c_name, "elements": each.type.elements}
        for each in tensors
    ]
