"""The channel "micropython": a native module (.mpy), and a user module for custom firmware."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aot.ir.types import DType
from codegen.model import TensorInfo
from platforms.channels.package import Package, tensor_words
from platforms.micropython import (
    SUB_VERSION,
    VERSION,
    UnmovableError,
    architecture_of,
    native_module,
)
from platforms.templates import filled

SUMMARY = "a module for MicroPython: native .mpy, and sources for firmware"
SUFFIX = ".zip"

# Typecodes of the module array, and how the example makes an element of 32 generated bits, as made_up_inputs.
_TYPECODES: Mapping[DType, tuple[str, str]] = {
    DType.I8: ("b", "(made_up() >> 24) - 128"),
    DType.U8: ("B", "made_up() >> 24"),
    DType.I16: ("h", "(made_up() >> 16) - 32768"),
    DType.I32: ("i", "made_up() >> 31"),
    DType.I64: ("q", "made_up() >> 31"),
    DType.F32: ("f", "(made_up() >> 8) / 8388608.0 - 1.0"),
    DType.BOOL: ("B", "made_up() >> 31"),
    DType.U32: ("I", "made_up() >> 31"),
    DType.U64: ("Q", "made_up() >> 31"),
}
_LOOKED_UP = ("ValueError", "RuntimeError", "memoryview", "bytearray", "float")
_FOLDER = "usermod"  # not the module's name: an import would find the folder
_FILES_OF_MODULE = {"micropython.mk": "micropython.mk.jinja", "micropython.cmake": "micropython.cmake.jinja"}


def files(package: Package) -> Mapping[str, str | bytes]:
    words, folder = _words(package), f"{_FOLDER}/{package.name}/"
    native, why_not = _native(package, words)
    return {
        **package.placed(folder, folder),
        f"{folder}{package.name}_module.c": _module(words, "builtin.c.jinja"),
        **{folder + file: _filled(template, words) for file, template in _FILES_OF_MODULE.items()},
        **native,
        "examples/once.py": _filled("once.py.jinja", words),
        "README.md": _filled("README.md.jinja", words, why_not=why_not),
        "LICENSE": package.filled("LICENSE.jinja"),
    }


def _native(package: Package, words: Mapping[str, Any]) -> tuple[dict[str, bytes], str]:
    """Returns the .mpy file, or the reason why there is none."""
    target = package.artifact.facts.target
    architecture = architecture_of(target)
    if architecture is None:
        return {}, f"MicroPython loads no native code of this version on {target.core}."
    name, flags = package.name, package.source.c_flags
    code = {**package.code, f"{name}_module.c": _module(words, "native.c.jinja")}
    with tempfile.TemporaryDirectory() as folder:
        try:
            made = native_module(name, code, flags, target, architecture, words["names"], Path(folder))
        except UnmovableError as error:
            return {}, f"{error}."
    return {f"{name}.mpy": made}, ""


def _module(words: Mapping[str, Any], port: str) -> str:
    is_native = port == "native.c.jinja"
    return _filled("module.c.jinja", words, is_native=is_native, port=_filled(port, words))


def _filled(template: str, words: Mapping[str, Any], **more: Any) -> str:
    return filled("micropython", template, **words, **more)


def _words(package: Package) -> dict[str, Any]:
    source = package.source
    rows, hop_rows = (package.header_number(f"{each}_ROWS") for each in ("INPUT", "HOP"))
    has_reset = source.is_streamed or source.keeps_state
    functions: list[dict[str, Any]] = [
        {"name": "run", "least": 0, "most": len(source.inputs)},
        *([{"name": "push", "least": 1, "most": 1}] if rows or hop_rows else []),
        *([{"name": "reset", "least": 0, "most": 0}] if has_reset else []),
        *({"name": name, "least": 0, "most": 1} for name in ("input", "output")),
        *({"name": name, "least": 0, "most": 0} for name in ("inputs", "outputs")),
    ]
    tensors = [_tensor(each) for each in (*source.inputs, *source.outputs)]
    count = len(source.inputs)
    architecture = architecture_of(package.artifact.facts.target)
    known = package.words
    return {
        **known,
        "functions": functions,
        "names": (*_LOOKED_UP, *(each["name"] for each in functions)),
        "tensors": tensors,
        "inputs": tensors[:count],
        "outputs": [
            {**each, **_expected(known["outputs"][n]), "index": n} for n, each in enumerate(tensors[count:])
        ],
        "max_rank": max(1, *(each.type.rank for each in (*source.inputs, *source.outputs))),
        "rows": rows,
        "hop_rows": hop_rows,
        "has_reset": has_reset,
        "arguments": ", ".join(f"x{n or ''}" for n in range(count)),
        "arena_arguments": ", ".join(f"aligned(m->{each['parameter']})" for each in known["arenas"]),
        "architecture": architecture.name if architecture else "",
        "mpy_version": f"{VERSION}.{SUB_VERSION}",
        "model_flags": source.c_flags,
        "stack_bytes": source.stack_bytes,
    }


def _expected(output: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the expected elements and the tolerance as in Python: C's floats end with f."""
    elements = [each.removesuffix("f") for each in output["expected"]]
    return {"expected": elements, "tolerance": output["tolerance"].removesuffix("f")}


def _tensor(tensor: TensorInfo) -> dict[str, Any]:
    typecode, made_up = _TYPECODES[tensor.type.dtype]
    return {
        **tensor_words(tensor),
        "name": tensor.name.replace("\\", "\\\\").replace('"', '\\"'),
        "bytes": tensor.type.bytes,
        "rank": tensor.type.rank,
        "shape": ", ".join(map(str, tensor.type.shape)) or "0",
        "typecode": typecode,
        "made_up": made_up,
    }
