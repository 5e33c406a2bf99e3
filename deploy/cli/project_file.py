"""The project file: a model with its board, options and data, so that commands need no arguments.

The command line overrides it. Options and data belong to its model: for another model, only the board and its
connection are used.

The file is found in parent folders, not named explicitly. It is therefore read only if it belongs to the
user, and reading it runs and writes nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aot.errors import DeployError, InputError, did_you_mean
from aot.trust import require_own
from codegen.option_entry import Option
from codegen.option_kinds import WrittenFile, WrongValueError
from codegen.options import OPTIONS
from deploy.devices.connection_options import LINE
from deploy.inputs.input_options import DATA

NAME = "solder.toml"
_REPOSITORY = ".git"
_TABLES: Mapping[str, Option] = {**OPTIONS, **DATA, **LINE}
_MODEL, _BOARD = "model", "board"
_DATA_FILES = ("inputs", "labels", "expected", "data")
_WORDS = (_BOARD, "toolchain")
# key -> the command-line option that replaces it
_INSTEAD: Mapping[str, str] = {_BOARD: "--target", "inputs": "--fill"}
_FILE = "FILE"  # metavar of options for files


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """Model, board, options and data of a project. Paths are relative to its folder."""

    path: Path
    model: Path | None
    of_model: Mapping[str, Any]  # options and data by keyword
    of_board: Mapping[str, Any]  # the board and its connection


def find_project_file() -> ProjectFile | None:
    """Returns the project file of the current or the nearest parent folder. Raises DeployError.

    The search stops at a repository root and at the home folder. Another user's file is an error.
    """
    try:
        here = Path.cwd()
    except OSError:  # the folder was removed
        return None
    for place in (here, *here.parents):
        if _is_there(place / NAME):
            require_own(place / NAME, "the project file")
            return read_project_file(place / NAME)
        if place == _home() or _is_repository(place):
            return None
    return None


def _is_repository(folder: Path) -> bool:
    try:
        return (folder / _REPOSITORY).exists()  # a file in a git worktree
    except OSError:
        return False


def _home() -> Path | None:
    try:
        return Path.home().resolve()
    except RuntimeError:  # this user has no home folder
        return None


def _is_there(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a parent folder may be unreadable
        return False


def read_project_file(path: Path) -> ProjectFile:
    """Reads and checks a project file. Raises DeployError."""
    from boards.files import read_toml  # loading boards is slow

    table = read_toml(path, "the project file")
    known = (_MODEL, *_WORDS, *_DATA_FILES, *(name for name in _TABLES if not _is_written(name)))
    for key in table:
        if _is_written(key):
            raise InputError(
                f"{key} is an output file, which a project file must not set",
                str(path),
                f"{_TABLES[key].flag} FILE on the command line",
            )
        if key not in known:
            raise InputError(
                f'"{key}" is not a key of a project file{did_you_mean(key, known)}',
                str(path),
                f"known: {', '.join(known)}",
            )
    for key in (_MODEL, *_WORDS, *_DATA_FILES):
        if not isinstance(table.get(key, ""), str):
            raise InputError(f"{key} must be a text, not {table[key]!r}", str(path))
    values = {key: _from_folder(path.parent, key, value) for key, value in table.items()}
    _require_values(values, path)
    return ProjectFile(
        path,
        values.pop(_MODEL, None),
        {key: value for key, value in values.items() if key not in (*_WORDS, *LINE)},
        {key: value for key, value in values.items() if key in (*_WORDS, *LINE)},
    )


def _from_folder(folder: Path, key: str, value: Any) -> Any:
    """Makes file names relative to the project's folder, independent of the current one."""
    option = _TABLES.get(key)
    takes_files = key in (_MODEL, *_DATA_FILES) or (option is not None and option.kind.metavar == _FILE)
    if not takes_files:
        return value
    return [folder / each for each in value] if isinstance(value, list) else folder / value


def _require_values(values: Mapping[str, Any], path: Path) -> None:
    """Raises InputError, located in the file, for an invalid option value."""
    for key, value in values.items():
        if key not in _TABLES:
            continue
        try:
            _TABLES[key].kind.check(value)
        except WrongValueError as error:
            raise InputError(f"{key} {error.what}", str(path), error.hint) from None
        except DeployError as error:
            raise InputError(error.what, str(path), error.hint) from None


def _is_written(key: str) -> bool:
    return key in _TABLES and isinstance(_TABLES[key].kind, WrittenFile)


def take_project_file(parser: argparse.ArgumentParser, words: Sequence[str], project: ProjectFile) -> None:
    """Sets the file's values as defaults of a command about a model. Other commands are unchanged."""
    model = model_argument(parser)
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


def model_argument(parser: argparse.ArgumentParser) -> argparse.Action | None:
    """Returns the positional argument for a model, or None if the command has none."""
    places = (action for action in parser._actions if not action.option_strings)
    return next((action for action in places if "MODEL" in str(action.metavar)), None)


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
