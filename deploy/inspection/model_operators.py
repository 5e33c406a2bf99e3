"""Lists the operators of a model file: their counts, and whether they are supported."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aot.errors import ModelError
from aot.frontend.load import SUFFIXES, FileOperator, file_operators, read_model
from codegen.job import import_data
from codegen.options import CompileOptions
from deploy.cli.command_result import Paged
from deploy.cli.console import table

_MODEL_FILES = {".tflite", ".onnx", *SUFFIXES}


def is_model_file(name: str) -> bool:
    """Returns whether this is a file name and not an operator. The file need not exist."""
    return Path(name).suffix.lower() in _MODEL_FILES or Path(name).is_file()


@dataclass(frozen=True)
class ModelOperators(Paged):
    """The operators of a file, and the error that prevents compilation. str() is a page."""

    file_name: str
    operators: tuple[FileOperator, ...]
    refused: ModelError | None

    def as_json(self) -> dict[str, Any]:
        used = [{"operator": o.name, "nodes": o.nodes, "known": o.is_read} for o in self.operators]
        return {"model": self.file_name, "used": used, "refused": str(self.refused) if self.refused else None}

    def __str__(self) -> str:
        nodes = sum(operator.nodes for operator in self.operators)
        head = f"{self.file_name}: {nodes:,} nodes of {len(self.operators)} operators, {self._verdict()}"
        rows = [(o.name, f"{o.nodes:,}", "yes" if o.is_read else "no") for o in self.operators]
        return f"{head}\n\n{table(('operator', 'nodes', 'known'), rows)}"

    def __repr__(self) -> str:
        return str(self)

    def _verdict(self) -> str:
        if self.refused is None:
            return "all supported"
        unknown = sum(operator.nodes for operator in self.operators if not operator.is_read)
        return f"{unknown:,} nodes unsupported" if unknown else "all supported, but not in every use"

    def require_supported(self) -> None:
        """Raises the error that lists everything unsupported, if any."""
        if self.refused is not None:
            raise self.refused


def model_operators(path: Path, options: CompileOptions) -> ModelOperators:
    """Reads a model file as far as possible. Raises ModelError if it is not a model."""
    data = read_model(path)
    refused: ModelError | None = None
    try:
        import_data(data, path, options)
    except ModelError as error:
        refused = error
    found = tuple(file_operators(data, path.name))
    if not found and refused is not None:
        raise refused
    return ModelOperators(path.name, found, refused)
