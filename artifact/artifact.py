"""A compiled model with its files, whether just compiled or read from an archive."""

from __future__ import annotations

import json
import struct
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from aot.errors import ArchiveError
from aot.ir.graph import Graph
from aot.ir.text import GraphTextError, external_constants, parse_graph, print_graph
from aot.ir.types import Array
from artifact.facts import ModelFacts, decode, encode, facts_of, print_json

if TYPE_CHECKING:
    from codegen.compile import CompiledModel


# Packs named arrays into `parameters/<name>.params`, the binary form of TVM's parameter files, and back.
#
# All numbers are little-endian. A list: magic, 0, names (count, then each with its length), number of arrays,
# arrays. An array: magic, 0, device, rank, element type, shape, length in bytes, elements.


_LIST_MAGIC = 0xF7E58D4F05049CB7
_ARRAY_MAGIC = 0xDD5E40F096B4A13F
_MOST_RANK = 16
_CPU = (1, 0)  # DLDevice: type, number
_INT, _UINT, _FLOAT = 0, 1, 2  # DLDataTypeCode
_DTYPES: Mapping[str, tuple[int, int]] = {  # numpy name -> code, bits; a boolean uses a byte
    "bool": (_UINT, 1),
    "int8": (_INT, 8),
    "int16": (_INT, 16),
    "int32": (_INT, 32),
    "int64": (_INT, 64),
    "uint8": (_UINT, 8),
    "uint32": (_UINT, 32),
    "uint64": (_UINT, 64),
    "float32": (_FLOAT, 32),
}
_NAMES = {coded: name for name, coded in _DTYPES.items()}


class ParametersError(ValueError):
    """The bytes are not a parameter file."""


def pack_parameters(arrays: Mapping[str, Array]) -> bytes:
    names = [name.encode() for name in arrays]
    parts = [struct.pack("<QQQ", _LIST_MAGIC, 0, len(names))]
    parts += [struct.pack("<Q", len(name)) + name for name in names]
    parts.append(struct.pack("<Q", len(names)))
    parts += [_packed(array) for array in arrays.values()]
    return b"".join(parts)


def _packed(array: Array) -> bytes:
    code, bits = _DTYPES[array.dtype.name]
    head = struct.pack("<QQiiiBBH", _ARRAY_MAGIC, 0, *_CPU, array.ndim, code, bits, 1)
    elements = array.astype(array.dtype.newbyteorder("<")).tobytes()
    return head + struct.pack(f"<{array.ndim}qq", *array.shape, len(elements)) + elements


def unpack_parameters(data: bytes) -> dict[str, Array]:
    """Returns the arrays by name. Raises ParametersError for anything but a complete parameter file."""
    reader = _ValueReader(data)
    magic, _, count = reader.numbers("QQQ")
    if magic != _LIST_MAGIC:
        raise ParametersError("it does not start like a parameter file")
    names = [reader.text(*reader.numbers("Q")) for _ in range(count)]
    if reader.numbers("Q") != (count,):
        raise ParametersError("its numbers of arrays and names differ")
    return {name: reader.array() for name in names}


class _ValueReader:
    """Reads values from the front of the data, one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def numbers(self, kinds: str) -> tuple[int, ...]:
        return struct.unpack(f"<{kinds}", self._bytes(struct.calcsize(f"<{kinds}")))

    def text(self, length: int) -> str:
        try:
            return self._bytes(length).decode()
        except UnicodeDecodeError:
            raise ParametersError("a name in it is not UTF-8 text") from None

    def array(self) -> Array:
        magic, _, _, _, rank, code, bits, _ = self.numbers("QQiiiBBH")
        if magic != _ARRAY_MAGIC or (code, bits) not in _NAMES or not 0 <= rank <= _MOST_RANK:
            raise ParametersError("an array in it has an unknown format")
        *shape, size = self.numbers(f"{rank}qq")
        dtype = np.dtype(_NAMES[code, bits])
        if min(shape, default=0) < 0 or np.prod(shape, dtype=object) * dtype.itemsize != size:
            raise ParametersError("the length of an array in it does not match its shape")
        elements = np.frombuffer(self._bytes(size), dtype.newbyteorder("<"))
        return elements.astype(dtype).reshape(shape)

    def _bytes(self, count: int) -> bytes:
        taken = self._data[self._at : self._at + count]
        if len(taken) < count:
            raise ParametersError(f"it ends after {len(self._data)} bytes, in the middle")
        self._at += count
        return taken


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
