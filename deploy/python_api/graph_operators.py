"""ONNX operators for Python's integer and comparison operators."""

from __future__ import annotations

from collections.abc import Mapping

# ONNX operator, supported types, attributes.
WHOLE: Mapping[str, tuple[str, tuple[str, ...], Mapping[str, str]]] = {
    "&": ("And", ("bool",), {}),
    "|": ("Or", ("bool",), {}),
    "^": ("Xor", ("bool",), {}),
    "~": ("Not", ("bool",), {}),
    "<<": ("BitShift", ("u8",), {"direction": "LEFT"}),
    ">>": ("BitShift", ("u8",), {"direction": "RIGHT"}),
    "%": ("Mod", ("i8", "u8", "i16", "i32", "i64"), {}),
    "//": ("", (), {}),
}
