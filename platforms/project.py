"""What a platform makes a project of: a compiled model's C files and what main.c must know of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from codegen.archive import Archive
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
    arena_bytes: int
    stack_bytes: int  # estimated need of <model>_run
    inputs: tuple[ProjectTensor, ...]
    outputs: tuple[ProjectTensor, ...]
    c_flags: tuple[str, ...]  # how the model's own files want to be compiled
    model_hash: str  # hex
    tool_version: str


def project_source(archive: Archive) -> ProjectSource:
    """What a project holds of an archive."""
    return ProjectSource(
        name=archive.name,
        sources=archive.sources,
        headers=archive.headers,
        arena_bytes=archive.arena_bytes,
        stack_bytes=archive.facts.stack_bytes_estimate,
        inputs=tuple(_tensor(info) for info in archive.inputs),
        outputs=tuple(_tensor(info) for info in archive.outputs),
        c_flags=archive.c_flags,
        model_hash=archive.model_hash,
        tool_version=archive.facts.tool_version,
    )


def _tensor(info: TensorInfo) -> ProjectTensor:
    return ProjectTensor(info.c_name, info.type.dtype.c_name, info.type.elements)
