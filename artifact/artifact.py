"""A compiled model with its files, whether just compiled or read from an archive."""

from __future__ import annotations

import json
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from aot.errors import ArchiveError
from aot.ir.graph import Graph
from aot.ir.text import GraphTextError, external_constants, parse_graph, print_graph
from aot.ir.types import Array
from artifact.fact_json import decode, encode, print_json
from artifact.facts import ModelFacts, facts_of
from artifact.parameters import ParametersError, pack_parameters, unpack_parameters

if TYPE_CHECKING:
    from codegen.compile import CompiledModel

_SOURCES = "codegen/host/src/"
_HEADERS = "codegen/host/include/"
_RUNTIME = "runtime/"
_SIZES = "sizes/"
_NO_FILES: Mapping[str, bytes] = {}


@dataclass(frozen=True)
class Artifact:
    """The facts of a compiled model, its C files, its graph and the device runtime."""

    facts: ModelFacts
    files: Mapping[str, bytes] = field(repr=False)  # path in the archive -> contents

    @property
    def name(self) -> str:
        return self.facts.name

    @cached_property
    def sources(self) -> Mapping[str, str]:
        """Returns the C sources by file name: "kws.c", "kws_weights.c", ..."""
        return {name: self._text(f"{_SOURCES}{name}") for name in self._below(_SOURCES)}

    @cached_property
    def headers(self) -> Mapping[str, str]:
        """Returns the C headers by file name: "kws.h", ..."""
        return {name: self._text(f"{_HEADERS}{name}") for name in self._below(_HEADERS)}

    @cached_property
    def runtime(self) -> Mapping[str, bytes]:
        """Returns the files of the device runtime that the model's C needs."""
        return self._below(_RUNTIME)

    @property
    def graph_text(self) -> str:
        return self._text(_graph_path(self.name))

    @cached_property
    def graph(self) -> Graph:
        """Returns the graph that the layers compute, with constants, for the reference. Raises ModelError."""
        return self._parsed(_graph_path(self.name), self._file(_parameters_path(self.name)))

    def _parsed(self, path: str, *parameters: bytes) -> Graph:
        """Parses a graph. If parameter files share a name, the later file wins."""
        try:
            constants = ChainMap(*map(unpack_parameters, reversed(parameters)))
            return parse_graph(self._text(path), constants)
        except (GraphTextError, ParametersError) as error:
            raise ArchiveError(
                f"{path} in the archive cannot be read: {error}",
                f"{self.name}, written by Solder {self.facts.tool_version}",
                "compile the model again with this version",
            ) from error

    @cached_property
    def imported(self) -> Graph:
        """Returns the graph as imported, before any pass; compiling it again gives these files."""
        texts = (self._file(_parameters_path(self.name)), self._file(_parameters_path(_imported(self.name))))
        return self._parsed(_graph_path(_imported(self.name)), *texts)

    @cached_property
    def sizes(self) -> tuple[Artifact, ...]:
        """Returns the model at its other sizes, if the firmware has several; this one is the largest."""
        files = {path: data for path, data in self.files.items() if not path.startswith(_SIZES)}
        return tuple(
            Artifact(self._facts_in(f"{_SIZES}{name}"), files) for name in sorted(self._below(_SIZES))
        )

    def _facts_in(self, path: str) -> ModelFacts:
        try:
            return decode(ModelFacts, json.loads(self._text(path)))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ArchiveError(
                f"{path} in the archive does not describe a model: {type(error).__name__} {error}",
                f"{self.name}, written by Solder {self.facts.tool_version}",
                "compile the model again with this version",
            ) from None

    def _file(self, path: str) -> bytes:
        try:
            return self.files[path]
        except KeyError:
            raise ArchiveError(
                f"the archive has no {path}",
                f"{self.name}, written by Solder {self.facts.tool_version}",
                "compile the model again with this version",
            ) from None

    def _text(self, path: str) -> str:
        try:
            return self._file(path).decode()
        except UnicodeDecodeError as error:
            raise ArchiveError(
                f"{path} in the archive is not UTF-8 text: {error.reason} at byte {error.start:,}",
                f"{self.name}, written by Solder {self.facts.tool_version}",
                "compile the model again with this version",
            ) from None

    def _below(self, folder: str) -> dict[str, bytes]:
        paths = [path for path in self.files if path.startswith(folder)]
        return {path.removeprefix(folder): self.files[path] for path in paths}


class _FilesMadeLater(Mapping[str, bytes]):
    """Files that are all generated on first access."""

    def __init__(self, make: Callable[[], Mapping[str, bytes]]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> Mapping[str, bytes]:
        return self._make()

    def __getitem__(self, path: str) -> bytes:
        return self._made[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)


def with_sizes(largest: Artifact, others: Sequence[Artifact], chooser: Mapping[str, str]) -> Artifact:
    """Returns a model with several sizes, with the C files that select one of them."""

    def make() -> Mapping[str, bytes]:
        found = dict(largest.files)
        for each in others:
            found |= {f"{_SIZES}{each.name}.json": print_json(encode(each.facts)).encode(), **each.files}
        return found | {f"{_folder_of(name)}{name}": text.encode() for name, text in chooser.items()}

    return Artifact(largest.facts, _FilesMadeLater(make))


def artifact_of(model: CompiledModel, runtime: Mapping[str, bytes] = _NO_FILES) -> Artifact:
    """Wraps a compiled model, whose C is generated on demand; `runtime` holds files that its C needs."""
    return Artifact(facts_of(model), _FilesMadeLater(lambda: _files(model, runtime)))


def _files(model: CompiledModel, runtime: Mapping[str, bytes]) -> dict[str, bytes]:
    constants, before = external_constants(model.graph), external_constants(model.planned.job.model.graph)
    imported = _imported(model.name)
    return {
        **{f"{_folder_of(name)}{name}": text.encode() for name, text in model.sources.items()},
        **{f"{_RUNTIME}{name}": data for name, data in runtime.items()},
        _graph_path(model.name): print_graph(model.graph).encode(),
        _parameters_path(model.name): pack_parameters(constants),
        _graph_path(imported): print_graph(model.planned.job.model.graph).encode(),
        _parameters_path(imported): pack_parameters(
            {name: array for name, array in before.items() if not _is_same(array, constants.get(name))}
        ),
    }


def _is_same(array: Array, other: Array | None) -> bool:
    """Compares bit for bit: a NaN equals itself."""
    return (
        other is not None
        and (array.dtype, array.shape) == (other.dtype, other.shape)
        and array.tobytes() == other.tobytes()
    )


def _folder_of(name: str) -> str:
    return _HEADERS if name.endswith(".h") else _SOURCES


def _imported(name: str) -> str:
    """Returns the name under which the graph before all passes is stored."""
    return f"{name}.imported"


def _graph_path(name: str) -> str:
    return f"src/{name}.graph"


def _parameters_path(name: str) -> str:
    return f"parameters/{name}.params"
