"""What a platform makes a project of: a compiled model's C files and what main.c must know of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from codegen.archive import Archive
from codegen.facts import ModelFacts
from codegen.model import TensorInfo


class App(Enum):
    """What the firmware does."""

    RPC = "rpc"  # serves the model over the line
    STANDALONE = "standalone"  # runs the model once and prints its outputs: a start for one's own main.c


@dataclass(frozen=True, slots=True)
class ProjectTensor:
    """An input or output of the model as main.c sees it."""

    c_name: str  # the member of struct <model>_inputs or <model>_outputs
    c_type: str  # "int8_t", "float", ...
    elements: int


@dataclass(frozen=True, slots=True)
class ProjectSource:
    """One compiled model, as far as a project holds it."""

    name: str  # a C identifier in lower case, such as "kws"
    sources: Mapping[str, str]  # "kws.c", "kws_weights.c", "kws_describe.c" -> text
    headers: Mapping[str, str]  # "kws.h" -> text
    arena_bytes: int  # on the line: with a streamed input as a whole
    is_streamed: bool
    keeps_state: bool  # from run to run, in the arena
    stack_bytes: int  # estimated need of <model>_run
    inputs: tuple[ProjectTensor, ...]
    outputs: tuple[ProjectTensor, ...]
    c_flags: tuple[str, ...]  # how the model's own files want to be compiled
    model_hash: str  # hex
    tool_version: str


def project_source(archive: Archive) -> ProjectSource:
    """What a project holds of an archive."""
    return source_of(archive.facts, {**archive.sources, **archive.headers})


def source_of(facts: ModelFacts, files: Mapping[str, str]) -> ProjectSource:
    """What a project holds of a compiled model; `files` are its C files by name."""
    return ProjectSource(
        name=facts.name,
        sources={name: text for name, text in files.items() if name.endswith(".c")},
        headers={name: text for name, text in files.items() if name.endswith(".h")},
        arena_bytes=facts.line_arena_bytes,
        is_streamed=facts.line_arena_bytes > facts.arena_bytes,
        keeps_state=facts.keeps_state,
        stack_bytes=facts.stack_bytes_estimate,
        inputs=tuple(_tensor(tensor) for tensor in facts.inputs),
        outputs=tuple(_tensor(tensor) for tensor in facts.outputs),
        c_flags=facts.c_flags,
        model_hash=facts.model_hash,
        tool_version=facts.tool_version,
    )


def _tensor(info: TensorInfo) -> ProjectTensor:
    return ProjectTensor(info.c_name, info.type.dtype.c_name, info.type.elements)
