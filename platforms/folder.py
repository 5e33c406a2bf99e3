"""Project folders: written completely or not at all, never over the user's files."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aot.errors import OutputError
from platforms.layout import PROJECT_FILE, PROJECT_FORMAT
from platforms.project import App


@dataclass(frozen=True, slots=True)
class ProjectInfo:
    """Facts from a folder's project.json."""

    name: str
    platform: str
    board: str
    app: App
    model_hash: str
    models: tuple[str, ...]  # in the firmware; the first is `name`
    build_id: str  # reported by the firmware over the line; "" in projects without one
    archive: str = ""  # the path of the archive that it was created from, relative to the folder
    other_archives: tuple[str, ...] = ()  # those of the models after the first


def write_project(directory: Path, files: Mapping[str, str | bytes]) -> None:
    """Writes the files to a temporary folder next to `directory`, then renames it."""
    _refuse_occupied(directory)
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{directory.name}.", dir=directory.parent))
    except OSError as error:
        raise OutputError(
            f"the project folder cannot be created: {error.strerror}", str(directory)
        ) from error
    try:
        _write_all(partial, files)
        partial.chmod(0o755)  # mkdtemp makes folders private
        if directory.exists():
            directory.rmdir()
        partial.rename(directory)
    except OSError as error:
        raise OutputError(f"the project cannot be written: {error.strerror}", str(directory)) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _refuse_occupied(directory: Path) -> None:
    if directory.is_dir() and any(directory.iterdir()):
        raise OutputError(
            "the folder is not empty, and deploy does not overwrite files",
            str(directory),
            "choose a new folder, or empty this one",
        )
    if directory.exists() and not directory.is_dir():
        raise OutputError("a file has the name of the project folder", str(directory), "choose a new folder")


def _write_all(root: Path, files: Mapping[str, str | bytes]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)


def is_project(directory: Path) -> bool:
    return (directory / PROJECT_FILE).is_file()


def read_project(directory: Path) -> ProjectInfo:
    """Reads the project in a folder. Raises OutputError if its format is unknown."""
    file = directory / PROJECT_FILE
    try:
        facts = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise OutputError(
            f"not a project folder: it has no {PROJECT_FILE}", str(directory), "create one with: deploy new"
        ) from error
    except (ValueError, RecursionError) as error:
        raise OutputError(f"{PROJECT_FILE} is damaged: {error}", str(file)) from error
    return _info(facts, file)


def _info(facts: Any, file: Path) -> ProjectInfo:
    if not isinstance(facts, dict) or facts.get("format") != PROJECT_FORMAT:
        raise OutputError(
            f"the project has a format that this version does not know (it knows {PROJECT_FORMAT})", str(file)
        )
    try:
        return ProjectInfo(
            name=str(facts["name"]),
            platform=str(facts["platform"]),
            board=str(facts["board"]),
            app=App(facts["app"]),
            model_hash=str(facts["model_hash"]),
            models=tuple(str(each) for each in facts.get("models", [facts["name"]])),
            build_id=str(facts.get("build_id", "")),
            archive=_path(facts.get("archive", "")),
            other_archives=tuple(_path(each) for each in facts.get("other_archives", [])),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise OutputError(f"{PROJECT_FILE} is damaged: {error}", str(file)) from error


def _path(given: Any) -> str:
    """Returns a path. Raises ValueError for one that no file can have."""
    path = str(given)
    if "\0" in path:
        raise ValueError("a path with a zero byte")
    return path
