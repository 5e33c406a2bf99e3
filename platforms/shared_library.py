"""Builds a model as a shared library and calls it in this process, for tests and Python programs."""

from __future__ import annotations

import ctypes
import hashlib
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from aot.errors import BuildError, InputError
from aot.ir.types import Array, TensorType
from aot.wording import counted
from boards.cores import load_core
from codegen.element_numbers import ELEMENT_TYPES
from codegen.model import PlacedTensor
from platforms.saved_states import HEAD_BYTES, HEADER_BYTES, require_fitting, size_in
from platforms.templates import template_text
from platforms.toolchains import Toolchain, find_toolchain

_DESCRIPTION = "_describe.c"
_HEADER = "solder_model.h"
_FLAGS = ("-std=c99", "-O2", "-fPIC")
_NO_CHECKS: Mapping[str, tuple[str, ...]] = {"zig": ("-fno-sanitize=all",)}  # zig's checks need its runtime
_GUARD_BYTES = 64
_GUARD = 0xC5
_ALIGN = 64  # a cache line, the largest alignment that a kernel may require
_MESSAGE_LINES = 12


class _Tensor(ctypes.Structure):
    """Mirrors `struct solder_tensor`."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_uint32)),
        ("rank", ctypes.c_uint32),
        ("dtype", ctypes.c_uint32),
        ("arena", ctypes.c_uint32),
        ("arena_offset", ctypes.c_uint32),
        ("bytes", ctypes.c_uint32),
    )


class _Model(ctypes.Structure):
    """Mirrors `struct solder_model`."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("hash", ctypes.c_uint8 * 8),
        ("arena_count", ctypes.c_uint32),
        ("arena_bytes", ctypes.POINTER(ctypes.c_uint32)),
        ("input_count", ctypes.c_uint32),
        ("output_count", ctypes.c_uint32),
        ("layer_count", ctypes.c_uint32),
        ("inputs", ctypes.POINTER(_Tensor)),
        ("outputs", ctypes.POINTER(_Tensor)),
        ("run", ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)),
        ("reset_state", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
    )


class HostModel:
    """A model loaded into this process. `arenas` are its memory and keep state between runs."""

    def __init__(self, library: Path, name: str) -> None:
        self._library = ctypes.CDLL(str(library))  # keeps the library loaded
        self._model = _Model.in_dll(self._library, f"{name}_model")
        self.name = name
        self.inputs = _tensors(self._model.inputs, self._model.input_count)
        self.outputs = _tensors(self._model.outputs, self._model.output_count)
        sizes = [self._model.arena_bytes[n] for n in range(self._model.arena_count)]
        self._memories = [_aligned(size + 2 * _GUARD_BYTES) for size in sizes]
        self.arenas = [memory[_GUARD_BYTES:-_GUARD_BYTES] for memory in self._memories]
        pointers = ctypes.c_void_p * len(sizes)
        self._pointers = pointers(*(arena.ctypes.data for arena in self.arenas))
        self.reset()

    def reset(self) -> None:
        """Resets the model's state to its initial value."""
        if self._model.reset_state:
            self._model.reset_state(self._pointers)

    def save_state(self) -> bytes:
        """Returns the states after the last run. Raises InputError if there are none."""
        if not self._model.reset_state:
            raise InputError(f"the model {self.name} keeps no state between runs")
        saved = ctypes.create_string_buffer(HEADER_BYTES + sum(arena.size for arena in self.arenas))
        status = self._on_states("save_state", saved)
        if status != 0:
            raise RuntimeError(f"{self.name}_save_state failed with error {status}")
        return saved.raw[: size_in(saved.raw[:HEAD_BYTES])]

    def restore_state(self, saved: bytes) -> None:
        """Continues from saved states. Raises InputError if they are damaged or of another model."""
        require_fitting(saved, self.save_state()[:HEAD_BYTES])
        status = self._on_states("restore_state", saved)
        if status != 0:
            raise RuntimeError(f"{self.name}_restore_state failed with error {status}")

    def _on_states(self, function: str, saved: bytes | ctypes.Array[ctypes.c_char]) -> int:
        found = self._library[f"{self.name}_{function}"]
        found.argtypes = [ctypes.c_char_p, *(ctypes.c_void_p for _ in self.arenas)]
        status: int = found(saved, *self._pointers)
        return status

    def run(self, inputs: Mapping[str, Array] | Sequence[Array] | Array) -> dict[str, Array]:
        """Returns the outputs of one sample by name. Pass inputs by name, in order, or as a single array.

        Raises InputError if an input is missing or has the wrong type or shape.
        """
        self.fill(inputs if isinstance(inputs, Mapping) else self._named(inputs))
        for memory in self._memories:
            memory[:_GUARD_BYTES] = memory[-_GUARD_BYTES:] = _GUARD
        self.invoke()
        self._require_guards()
        return {tensor.name: self._taken(tensor) for tensor in self.outputs}

    def fill(self, inputs: Mapping[str, Array]) -> None:
        """Copies the inputs to the model's memory, which a run may overwrite."""
        given = [(tensor, _checked(tensor, inputs)) for tensor in self.inputs]
        for tensor, array in given:
            self._place(tensor)[:] = array.reshape(-1).view(np.uint8)

    def _named(self, inputs: Sequence[Array] | Array) -> dict[str, Array]:
        arrays = [inputs] if isinstance(inputs, np.ndarray) else list(inputs)
        names = [tensor.name for tensor in self.inputs]
        if len(arrays) != len(names):
            listed = ", ".join(f'"{name}"' for name in names)
            given = counted(len(arrays), "array")
            raise InputError(f"{given} given, the model needs {counted(len(names), 'input')}: {listed}")
        return dict(zip(names, arrays, strict=True))

    def invoke(self) -> None:
        """Runs the model on the current arenas, without copying inputs or outputs."""
        status = self._model.run(self._pointers)
        if status != 0:
            raise RuntimeError(f"{self.name}_run failed with error {status}")

    def _place(self, tensor: PlacedTensor) -> Array:
        place: Array = self.arenas[tensor.arena][tensor.arena_offset : tensor.arena_offset + tensor.bytes]
        return place

    def _taken(self, tensor: PlacedTensor) -> Array:
        bytes_: Array = self._place(tensor).copy()
        return bytes_.view(tensor.dtype).reshape(tensor.shape)

    def _require_guards(self) -> None:
        for arena, broken in zip(self.arenas, self.broken_guards(), strict=True):
            if broken:
                raise RuntimeError(f"{self.name} has written outside its arena of {arena.size} bytes")

    def broken_guards(self) -> list[int]:
        """Returns for each arena how many guard bytes below and above it a run has overwritten."""
        guards = ((memory[:_GUARD_BYTES], memory[-_GUARD_BYTES:]) for memory in self._memories)
        return [int((below != _GUARD).sum() + (above != _GUARD).sum()) for below, above in guards]


def build(sources: Mapping[str, str], directory: Path) -> HostModel:
    """Compiles a model's C files in `directory` and loads the result. Raises ToolError."""
    name = model_name(sources)
    directory.mkdir(parents=True, exist_ok=True)
    for file, text in {**sources, _HEADER: template_text("common", _HEADER)}.items():
        (directory / file).write_text(text, encoding="utf-8", newline="\n")
    library = directory / f"{name}-{_digest(sources)}.so"
    files = sorted(file for file in sources if file.endswith(".c"))
    for argv in build_commands(find_toolchain(load_core("host").target()), files, library.name):
        _run(argv, directory)
    return HostModel(library, name)


def _digest(sources: Mapping[str, str]) -> str:
    """Returns a digest of the files. Unique names are needed because the system caches loaded libraries."""
    return hashlib.sha256("\0".join((*sources, *sources.values())).encode()).hexdigest()[:16]


def model_name(sources: Mapping[str, str]) -> str:
    """Returns the name of the model that the files belong to."""
    (name,) = (file.removesuffix(_DESCRIPTION) for file in sources if file.endswith(_DESCRIPTION))
    return name


def build_commands(toolchain: Toolchain, files: Sequence[str], library: str) -> Iterator[tuple[str, ...]]:
    """Yields the commands that build the library. Compiling each file separately lets ccache help."""
    compiler = (*toolchain.argv, *_FLAGS, *_NO_CHECKS.get(toolchain.family, ()))
    for file in files:
        yield (*compiler, "-c", file, "-o", f"{file}.o")
    yield (*compiler, "-shared", *(f"{file}.o" for file in files), "-o", library)


def _run(argv: Sequence[str], directory: Path) -> None:
    done = subprocess.run(argv, cwd=directory, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()[:_MESSAGE_LINES]
        raise BuildError(
            f"the compiler failed with exit status {done.returncode}",
            "\n".join((shlex.join(argv), f"in {directory}", *lines)),
        )


def _tensors(described: ctypes._Pointer[_Tensor], count: int) -> tuple[PlacedTensor, ...]:
    return tuple(_tensor(described[i]) for i in range(count))


def _tensor(described: _Tensor) -> PlacedTensor:
    shape = tuple(described.shape[axis] for axis in range(described.rank))
    kind = TensorType(ELEMENT_TYPES[described.dtype], shape)
    return PlacedTensor(described.name.decode("utf-8"), kind, described.arena_offset, described.arena)


def _checked(tensor: PlacedTensor, inputs: Mapping[str, Array]) -> Array:
    if tensor.name not in inputs:
        given = ", ".join(f'"{name}"' for name in inputs) or "none"
        raise InputError(f'input "{tensor.name}" is missing', f"given: {given}")
    array = np.asarray(inputs[tensor.name], order="C")
    if array.shape != tensor.shape or array.dtype != tensor.dtype:
        raise InputError(
            f'input "{tensor.name}" is {array.dtype}{list(array.shape)}, the model needs {tensor}'
        )
    return array


def _aligned(count: int) -> Array:
    """Returns zeroed bytes aligned to _ALIGN."""
    raw = np.zeros(count + _ALIGN, np.uint8)
    skip = -raw.ctypes.data % _ALIGN
    aligned: Array = raw[skip : skip + count]
    return aligned
