"""Counts the operators of a model file and which of them are supported, even if the model is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from aot.frontend.load import is_onnx, is_tflite


@dataclass(frozen=True, slots=True)
class FileOperator:
    """An operator of a file, by its name in the file's format."""

    name: str
    nodes: int
    is_read: bool


def file_operators(data: bytes, file_name: str) -> Sequence[FileOperator]:
    """Returns the operators in a file's bytes, most frequent first. Raises ModelError if not a model."""
    if is_tflite(data):
        from aot.frontend.tflite.read import operators_of_tflite

        return _counted(operators_of_tflite(data, file_name))
    if is_onnx(data, Path(file_name).suffix.lower()):
        from aot.frontend.onnx.read import operators_of_onnx

        return _counted(operators_of_onnx(data, file_name))
    return ()


def _counted(found: Iterable[tuple[str, bool]]) -> tuple[FileOperator, ...]:
    counts = Counter(found)
    return tuple(
        FileOperator(name, nodes, is_read)
        for (name, is_read), nodes in sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    )
