"""A job: one model, one target, and every option that affects the generated code."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from aot.errors import InputError
from aot.frontend.load import open_batches, parse_model, read_model, usual_rounding
from aot.frontend.paired_states import with_states
from aot.ir.graph import Graph
from aot.ir.types import Array
from aot.target import BaseFirmware, Target
from codegen.c.names import model_identifier
from codegen.isa.table import headers, in_standard_c
from codegen.kernels.knobs import NOT_TUNED, Point
from codegen.options import CDialect, CompileOptions, Rounding

NOTHING_DEFINED: Mapping[str, Array] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ImportedModel:
    """A graph as the importer created it, before any pass, and its file."""

    graph: Graph = field(repr=False)
    source_name: str  # the file's name, without folders
    hash: str  # SHA-256 of the file's bytes, in hex
    name: str  # a C identifier in lower case
    file: bytes = field(default=b"", repr=False)  # content; empty for a graph from another source
    rounding: str = "tflm"  # the mode that the file was read with
    open_batches: tuple[str, ...] = ()  # inputs whose batch the file leaves open: it is 1


@dataclass(frozen=True, slots=True)
class Job:
    """One compile. The model was imported with the rounding and the shapes of the options."""

    model: ImportedModel
    target: Target
    options: CompileOptions
    tuned: Mapping[str, Point] = field(default_factory=lambda: NOT_TUNED)  # task -> its point, if measured
    board: str = ""  # its name, for the generated C code
    firmware: BaseFirmware | None = None  # whose memory needs must be met; None: for the model alone
    defined: Mapping[str, Array] = field(
        default_factory=lambda: NOTHING_DEFINED, repr=False
    )  # constants of other models in the firmware, by C name

    def __post_init__(self) -> None:
        if self.options.rounding is Rounding.AUTO:
            found = replace(self.options, rounding=Rounding(self.model.rounding))
            object.__setattr__(self, "options", found)

    @property
    def kernel_target(self) -> Target:
        """Returns the target as kernels see it, without features that the level or the dialect excludes."""
        if not self.options.at_level.has_instructions:
            return replace(self.target, features=frozenset())
        return in_standard_c(self.target) if self.options.dialect is CDialect.STRICT else self.target


def read_job(
    path: Path,
    target: Target,
    options: CompileOptions,
    tuned: Mapping[str, Point] = NOT_TUNED,
    board: str = "",
) -> Job:
    """Reads a model file for one compile. Raises ModelError."""
    return Job(import_model(path, options), target, options, tuned, board)


def import_model(path: Path, options: CompileOptions) -> ImportedModel:
    """Reads a model file. Raises ModelError if it is not supported."""
    return import_data(read_model(path), path, options)


def import_data(data: bytes, path: Path, options: CompileOptions) -> ImportedModel:
    """Reads a model from the bytes of its file, which need not exist. Raises ModelError."""
    rounding = options.rounding.value
    if options.rounding is Rounding.AUTO:
        rounding = usual_rounding(data, path.name)
    graph = with_states(parse_model(data, path.name, rounding, options.input_overrides), options.states)
    if options.slide_rows is None:
        graph = _with_back(graph, options)
    if options.front is not None:
        from aot.fronts.attach import with_front  # front ends of eight libraries are slow to import

        graph = with_front(graph, options.front)
    if options.slide_rows is not None:
        from aot.passes.pipeline import run_meaning
        from aot.passes.sliding.step import slide

        meaning = run_meaning(graph, options.left_out_passes).graph
        graph = _with_back(slide(meaning, options.slide_rows).graph, options)
    name = model_name(path) if options.name is None else _users_name(options.name)
    opened = open_batches(data, path.name, options.input_overrides)
    return ImportedModel(graph, path.name, hashlib.sha256(data).hexdigest(), name, data, rounding, opened)


def _with_back(graph: Graph, options: CompileOptions) -> Graph:
    """Returns the model with its back end, whose states follow decisions and not rows of a window."""
    if options.back is None:
        return graph
    from aot.backs.attach import with_back  # most models declare none

    return with_back(graph, options.back)


def _users_name(word: str) -> str:
    """Returns the user's name for generated C. Raises InputError if C or the file system forbids it."""
    possible = model_identifier(word, headers())
    if possible != word:
        raise InputError(
            f'"{word}" cannot be the name of generated C',
            hint=f"--name {possible} can: lower case, and the name of no header or word of C",
        )
    return word


def model_name(path: Path) -> str:
    """Returns the name for generated C: the file's stem, or its folder's name if the file is model.*."""
    stem = path.stem if path.stem != "model" else path.resolve().parent.name
    return model_identifier(stem, headers())
