"""Writes the stages of a compile to a folder: graphs after passes, loops and C of layers, memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from aot.errors import OutputError
from artifact.memory_map import draw_memory
from deploy.compiler.compile_model import Compiled
from deploy.inspection.inspect_page import layers_table
from deploy.inspection.layer_view import LayerView, views_of
from deploy.inspection.pass_page import dumped


def dump_stages(compiled: Compiled, folder: Path) -> None:
    """Writes the stages into a folder accepted by `require_free`."""
    facts = compiled.report.facts
    _write(
        folder,
        {
            **dumped(compiled.job.model.graph, compiled.steps),
            **{name: text for view in views_of(compiled.model) for name, text in _layer_files(view)},
            "layers.txt": layers_table(compiled.report) + "\n",
            "memory.txt": draw_memory(facts.memory),
        },
    )


def _layer_files(view: LayerView) -> Iterator[tuple[str, str]]:
    """Yields a layer's loops and C code, in files named by its index."""
    stem = f"layers/{view.info.index:03}-{view.info.op}"
    yield f"{stem}.py", view.ir
    yield f"{stem}.c", view.c


def require_free(folder: Path) -> None:
    """Raises OutputError if the folder is in use, because files of two dumps would be mixed up."""
    if folder.is_dir() and any(folder.iterdir()):
        raise OutputError(
            "the folder for the dump is not empty", str(folder), "choose a new folder, or empty this one"
        )
    if folder.exists() and not folder.is_dir():
        raise OutputError("--dump needs a folder, this is a file", str(folder), "choose a new folder")


def _write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
