"""Builds a model's generated C as a standalone program, for tools on this computer."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np

from aot.errors import ToolError
from aot.interpret import run_graph
from aot.ir.tensor_spec import TensorSpec
from aot.ir.types import Array
from artifact.artifact import Artifact
from codegen.model import TensorInfo
from deploy.verification.compare_layers import differences
from platforms.arena_words import arena_words
from platforms.project import project_source
from platforms.templates import filled

# Runs a third-party tool in a chapter's folder.

_MESSAGE_LINES = 12


def run_tool(argv: Sequence[str], folder: Path, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Runs a tool with `given` as input. If it fails, raises ToolError with the end of its output."""
    env = {**os.environ, "PWD": str(folder)}  # some tools use PWD instead of their working directory
    done = subprocess.run(argv, cwd=folder, env=env, input=given, capture_output=True, check=False)
    if done.returncode != 0:
        lines = (done.stdout + done.stderr).decode(errors="replace").strip().splitlines()[-_MESSAGE_LINES:]
        raise ToolError(
            f"{Path(argv[0]).name} failed with exit status {done.returncode}",
            "\n".join((shlex.join(argv), f"in {folder}", *lines)),
        )
    return done


# Control files with known defects. A tool must report them before its silence about other files counts.


def require_reported(tool: str, wanted: Collection[str], found: Collection[str]) -> None:
    """Raises ToolError if a tool does not report all defects of its control file."""
    if silent := [each for each in wanted if each not in found]:
        raise ToolError(
            f"{tool} does not report {', '.join(silent)} in a control file made to be reported, "
            "so its silence about other files proves nothing",
            hint=f"look at what {tool} is on PATH",
        )


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


# Compares the outputs of a standalone program with the reference.


def differs_from_reference(artifact: Artifact, samples: Sequence[Sequence[Array]], outputs: bytes) -> bool:
    """Returns whether the outputs differ from the graph's, each on a first run."""
    graph, specs = artifact.graph, [TensorSpec(t.name, t.type) for t in artifact.facts.outputs]
    names = [tensor.name for tensor in artifact.facts.inputs]
    runs = (run_graph(graph, dict(zip(names, sample, strict=True))) for sample in samples)
    expected = [tuple(run[spec.name].reshape(spec.shape) for spec in specs) for run in runs]
    found, at = [], 0
    for _ in samples:
        arrays = []
        for spec in specs:
            arrays.append(np.frombuffer(outputs, spec.dtype, spec.type.elements, at).reshape(spec.shape))
            at += spec.type.bytes
        found.append(tuple(arrays))
    return bool(differences(expected, found, specs))
