"""The project file: a model with its board, options and data, so that commands need no arguments.

What the command line says goes before. Options and data belong to the model: where the command line names
another one, only the board and the way to it are taken from the file.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from aot.errors import DeployError, InputError, did_you_mean
from aot.records import dataclass
from codegen.option_reading import read_given
from codegen.options import OPTIONS, CompileOptions
from deploy.data import DATA, DataOptions
from deploy.line import LINE, LineOptions

NAME = "solder.toml"
_MODEL, _BOARD = "model", "board"
_DATA_FILES = ("inputs", "labels", "expected", "data")
_WORDS = (_BOARD, "toolchain")
# A key -> the option of the command line that stands in its place.
_INSTEAD: Mapping[str, str] = {_BOARD: "--target", "inputs": "--fill"}
_FILE = "FILE"  # in the placeholder of an option that takes files


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """Model, board, options and data of a project; paths are from its folder."""

    path: Path
    model: Path | None
    of_model: Mapping[str, Any]  # options and data, by keyword
    of_board: Mapping[str, Any]  # the board and the way to it


def find_project_file() -> ProjectFile | None:
    """The project file of the current folder, or of the nearest one above. Raises DeployError."""
    try:
        here = Path.cwd()
    except OSError:  # the folder was removed
        return None
    for place in (here, *here.parents):
        if _is_there(place / NAME):
            return read_project_file(place / NAME)
    return None


def _is_there(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a folder above may be closed to us
        return False


def read_project_file(path: Path) -> ProjectFile:
    """Reads and checks a project file. Raises DeployError."""
    from boards.files import read_toml  # boards take their time

    table = read_toml(path, "the project file")
    known = (_MODEL, *_WORDS, *_DATA_FILES, *OPTIONS, *DATA, *LINE)
    for key in table:
        if key not in known:
            raise InputError(
                f'"{key}" is not a key of a project file{did_you_mean(key, known)}',
                str(path),
                f"known: {', '.join(known)}",
            )
    for key in (_MODEL, *_WORDS, *_DATA_FILES):
        if not isinstance(table.get(key, ""), str):
            raise InputError(f"{key} is {table[key]!r}, and must be a text", str(path))
    values = {key: _from_folder(path.parent, key, value) for key, value in table.items()}
    _require_values(values, path)
    return ProjectFile(
        path,
        values.pop(_MODEL, None),
        {key: value for key, value in values.items() if key not in (*_WORDS, *LINE)},
        {key: value for key, value in values.items() if key in (*_WORDS, *LINE)},
    )


def _from_folder(folder: Path, key: str, value: Any) -> Any:
    """Files are named from the project's folder, wherever the command is called."""
    option = {**OPTIONS, **DATA, **LINE}.get(key)
    takes_files = key in (_MODEL, *_DATA_FILES) or (option is not None and option.kind.metavar == _FILE)
    if not takes_files:
        return value
    return [folder / each for each in value] if isinstance(value, list) else folder / value


def _require_values(values: Mapping[str, Any], path: Path) -> None:
    """Raises InputError for a value that its option does not take, with the file's name."""
    for start, table in ((CompileOptions(), OPTIONS), (DataOptions(), DATA), (LineOptions(), LINE)):
        try:
            read_given(start, table, {key: values[key] for key in values if key in table})
        except DeployError as error:
            raise InputError(error.what, str(path), error.hint) from None


def take_project_file(parser: argparse.ArgumentParser, words: Sequence[str], project: ProjectFile) -> None:
    """Makes what the file says the defaults of a command about a model; of others it says nothing."""
    model = next(_model_arguments(parser), None)
    if model is None:
        return
    _set(parser, words, project.of_board)
    if project.model is None:
        return
    takes_several = model.nargs == "+"
    model.nargs, model.required = "*" if takes_several else "?", False
    model.default = [project.model] if takes_several else project.model
    found, _ = parser.parse_known_args(words)
    if getattr(found, model.dest) is model.default:
        _set(parser, words, project.of_model)


def _model_arguments(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """The arguments that name a model by their place."""
    for action in parser._actions:
        if not action.option_strings and "MODEL" in str(action.metavar):
            yield action


def _set(parser: argparse.ArgumentParser, words: Sequence[str], values: Mapping[str, Any]) -> None:
    given = {word.partition("=")[0] for word in words}
    for key, value in values.items():
        if _INSTEAD.get(key) in given:
            continue
        for action in parser._actions:
            if action.option_strings and action.dest in (key, f"option_{key}"):
                action.default = [value] if action.nargs == "+" else value
                action.required = False
    for group in parser._mutually_exclusive_groups:
        group.required = group.required and _BOARD not in values
