"""Reads a TFLite model from a C array, a common form: `const unsigned char model[] = {0x20, ...};`."""

from __future__ import annotations

import re

from aot.errors import NoModelFileError

SUFFIXES = (".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".ino")
_IDENTIFIER = b"TFL3"
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_ARRAY = re.compile(r"(\w+)\s*\[[^\]]*\][^;={}]*=\s*\{([^{}]*)\}")
_MAKE = "create one with: xxd -i model.tflite"


def model_in_c(data: bytes, file_name: str) -> bytes:
    """Returns the bytes of the only array in the source that is a TFLite model. Raises ModelError."""
    text = _COMMENT.sub(" ", data.decode("utf-8", "replace"))
    found = {name: array for name, numbers in _ARRAY.findall(text) if (array := _bytes(numbers))}
    models = {name: array for name, array in found.items() if array[4:8] == _IDENTIFIER}
    if len(models) > 1:
        names = ", ".join(f"{name} ({len(array):,} bytes)" for name, array in models.items())
        raise NoModelFileError(
            f"the file holds {len(models)} models: {names}", file_name, "keep only one of them in the file"
        )
    if not models:
        arrays = ", ".join(f"{name} ({len(array):,} bytes)" for name, array in found.items())
        raise NoModelFileError(
            "this C source holds no array of bytes that is a TFLite model",
            f"{file_name}: arrays of bytes: {arrays or 'none'}",
            _MAKE,
        )
    (model,) = models.values()
    return model


def _bytes(numbers: str) -> bytes | None:
    """Returns the bytes, or None if the text is not a list of bytes."""
    try:
        return bytes(
            int(number, 0) & 0xFF for number in numbers.replace("u", "").split(",") if number.strip()
        )
    except ValueError:
        return None
