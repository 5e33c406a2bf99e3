"""Archives in Model Library Format: a compiled model in one file, read only where it is as it was written."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from aot.errors import ModelError
from aot.ir.graph import Graph
from aot.ir.line import GraphTextError
from aot.ir.text import external_constants, parse_graph, print_graph
from aot.target import Target
from codegen.archive_file import export_time, read_tar, tar_bytes, write_archive_file
from codegen.facts import ModelFacts, facts_of
from codegen.metadata import COMPILE_AGAIN, make_metadata, read_metadata
from codegen.model import CompiledModel, LayerInfo, TensorInfo
from codegen.parameters import ParametersError, pack_parameters, unpack_parameters

METADATA = "metadata.json"
_SOURCES = "codegen/host/src/"
_HEADERS = "codegen/host/include/"
_RUNTIME = "runtime/"
_NO_FILES: Mapping[str, bytes] = {}


@dataclass(frozen=True)
class Archive:
    """A compiled model as its archive has it."""

    facts: ModelFacts
    files: Mapping[str, bytes] = field(repr=False)  # path in the archive -> contents; all but metadata.json

    @property
    def name(self) -> str:
        return self.facts.name

    @property
    def model_hash(self) -> str:
        return self.facts.model_hash

    @property
    def inputs(self) -> tuple[TensorInfo, ...]:
        return self.facts.inputs

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        return self.facts.outputs

    @property
    def layers(self) -> tuple[LayerInfo, ...]:
        return self.facts.layers

    @property
    def arena_bytes(self) -> int:
        return self.facts.arena_bytes

    @property
    def constants_bytes(self) -> int:
        return self.facts.constants_bytes

    @property
    def target(self) -> Target:
        return self.facts.target

    @property
    def c_flags(self) -> tuple[str, ...]:
        return self.facts.c_flags

    @cached_property
    def sources(self) -> Mapping[str, str]:
        """ "kws.c", "kws_weights.c", ... -> text."""
        return {name: data.decode() for name, data in self._below(_SOURCES).items()}

    @cached_property
    def headers(self) -> Mapping[str, str]:
        """ "kws.h", ... -> text."""
        return {name: data.decode() for name, data in self._below(_HEADERS).items()}

    @cached_property
    def runtime(self) -> Mapping[str, bytes]:
        """The device runtime's files that came with the model."""
        return self._below(_RUNTIME)

    @property
    def graph_text(self) -> str:
        return self.files[_graph_path(self.name)].decode()

    def graph(self) -> Graph:
        """What the layers compute, constants included: the reference can run it."""
        try:
            return parse_graph(self.graph_text, unpack_parameters(self.files[_parameters_path(self.name)]))
        except (GraphTextError, ParametersError) as error:
            raise ModelError(
                f"the archive's graph cannot be read: {error}",
                f"{self.name}, written by Solder {self.facts.tool_version}",
                "compile the model again with this version",
            ) from error

    def _below(self, folder: str) -> dict[str, bytes]:
        paths = [path for path in self.files if path.startswith(folder)]
        return {path.removeprefix(folder): self.files[path] for path in paths}


def _graph_path(name: str) -> str:
    return f"src/{name}.graph"


def _parameters_path(name: str) -> str:
    return f"parameters/{name}.params"


def write_archive(model: CompiledModel, path: Path, runtime: Mapping[str, bytes] = _NO_FILES) -> None:
    """Writes the same bytes for the same model, whatever the day and the folder.

    `runtime` are files that the model's C needs beside it. An archive that is there already is replaced
    when all is written; anything else that is there is kept. Raises OutputError.
    """
    write_archive_file(path, archive_bytes(model, runtime, export_time()))


def archive_bytes(model: CompiledModel, runtime: Mapping[str, bytes], seconds: int) -> bytes:
    """The archive; `seconds` since 1970 is the only time in it."""
    files = _files(model, runtime)
    hashes = {path: hashlib.sha256(data).hexdigest() for path, data in files.items()}
    metadata = make_metadata(facts_of(model), seconds, hashes, has_runtime=bool(runtime))
    return tar_bytes({METADATA: metadata.encode(), **dict(sorted(files.items()))}, seconds)


def _files(model: CompiledModel, runtime: Mapping[str, bytes]) -> dict[str, bytes]:
    folders = {name: _HEADERS if name.endswith(".h") else _SOURCES for name in model.sources}
    return {
        **{f"{folders[name]}{name}": text.encode() for name, text in model.sources.items()},
        **{f"{_RUNTIME}{name}": data for name, data in runtime.items()},
        _graph_path(model.name): print_graph(model.graph).encode(),
        _parameters_path(model.name): pack_parameters(external_constants(model.graph)),
    }


def read_archive(path: Path) -> Archive:
    """Raises ModelError for what is not an archive, or not wholly as it was written."""
    where = str(path)
    files = read_tar(path)
    if METADATA not in files:
        raise ModelError(
            f"this tar is no archive of a model: it has no {METADATA}",
            where,
            "deploy compile MODEL --board B -o OUT.tar writes one",
        )
    facts, hashes = read_metadata(files.pop(METADATA), where)
    _require_same_files(files, hashes, where)
    return Archive(facts, files)


def _require_same_files(files: Mapping[str, bytes], hashes: Mapping[str, str], where: str) -> None:
    missing = sorted(hashes.keys() - files.keys())
    if missing:
        lacks = f"{len(missing)} of its {len(hashes)} files are missing, such as {missing[0]}"
        raise ModelError(f"the archive is not whole: {lacks}", where, COMPILE_AGAIN)
    foreign = sorted(files.keys() - hashes.keys())
    if foreign:
        raise ModelError(
            f"the archive holds {foreign[0]}, which its metadata.json does not name", where, COMPILE_AGAIN
        )
    for path, data in files.items():
        if hashlib.sha256(data).hexdigest() != hashes[path]:
            changed = f"{path} in the archive was changed after it was written: its SHA-256 differs"
            raise ModelError(changed, where, COMPILE_AGAIN)
