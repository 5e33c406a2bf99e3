"""Saves a compiled model as an archive, or as plain sources in a folder for another project."""

from __future__ import annotations

from pathlib import Path

from aot.errors import OutputError
from aot.ir.graph import Graph
from artifact.archive import write_archive
from artifact.artifact import Artifact
from artifact.whole_file import write_whole
from deploy.inputs.samples import Samples
from deploy.verification.compare_layers import reference_outputs
from platforms.plain_sources import CMAKE, MARK, made_up_inputs, plain_files

_ARCHIVE = ".tar"


def is_folder(path: Path) -> bool:
    """Returns whether the path names a folder. Raises OutputError for other file types."""
    if path.suffix == _ARCHIVE:
        return False
    if path.suffix and not path.is_dir():
        raise OutputError(
            f"a compiled model is written as an archive or into a folder, not as {path.suffix}",
            str(path),
            f"-o {path.with_suffix(_ARCHIVE)} or -o {path.with_suffix('')}",
        )
    return True


def require_output_place(path: Path) -> None:
    """Raises OutputError before compiling if the output would overwrite the user's files."""
    if not is_folder(path):
        return
    if path.exists() and not path.is_dir():
        raise OutputError("a file has the name of the folder", str(path), "choose a new folder")
    if path.is_dir() and any(path.iterdir()) and not _is_ours(path):
        raise OutputError(
            "the folder is not empty and was not created by deploy", str(path), "choose a new folder"
        )


def save(artifact: Artifact, graph: Graph, path: Path) -> None:
    """Writes an archive, or plain sources if the path is a folder.

    `graph` is used to compute test outputs.
    """
    require_output_place(path)
    if not is_folder(path):
        write_archive(artifact, path)
        return
    inputs = Samples((tuple(made_up_inputs(artifact.facts.inputs)),), is_series=False)
    (expected,) = reference_outputs(graph, inputs)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"the folder cannot be created: {error.strerror}", str(path)) from error
    for name, text in plain_files(artifact, expected).items():
        write_whole(path / name, text.encode())


def _is_ours(folder: Path) -> bool:
    file = folder / CMAKE
    return file.is_file() and file.read_text(encoding="utf-8", errors="replace").startswith(MARK)
