"""Writes a package for a custom accelerator, starting from a copy of an example."""

from __future__ import annotations

import keyword
import re
import shlex
from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from aot.errors import InputError, did_you_mean
from codegen.accelerators.names import EXAMPLES, accelerator_names
from codegen.c.names import is_c_name
from deploy.cli.command_result import Answer
from platforms.folder import write_project

_ENDINGS = (".py", ".c", ".h")
_COPIED = re.compile(r'\A"""(?P<first>.*?)\n(\n.*?)?"""', re.DOTALL)  # matches a module's docstring
_TEMPLATES = "deploy.accelerator_package"


def new_accelerator(name: str, directory: str | Path | None = None, like: str = "vanilla") -> Answer:
    """Writes a package that declares an accelerator: Python, C, a simulated device and a passing test.

    `like` is the example to copy. The folder must be new or empty; by default it has the accelerator's name.
    """
    _require_name(name)
    if like not in EXAMPLES:
        near = did_you_mean(like, EXAMPLES)
        raise InputError(f'like "{like}" is not known{near}', hint=f"known: {', '.join(EXAMPLES)}")
    folder = Path(name if directory is None else directory)
    made = package_files(name, like)
    write_project(folder, made)
    facts = {"name": name, "like": like, "directory": str(folder), "files": sorted(made)}
    page = (
        f"{folder}: the accelerator {name}, like {like}\n"
        + "".join(f"  {path}\n" for path in sorted(made))
        + f"  next: pip install -e {shlex.quote(str(folder))}, then deploy accelerators"
    )
    return Answer(facts, page)


def package_files(name: str, like: str) -> Mapping[str, str]:
    """Returns the files of the package by path."""
    return {**dict(_copied(name, like)), **dict(_around(name, like))}


def _copied(name: str, like: str) -> Iterator[tuple[str, str]]:
    """Yields the example's files, with the new accelerator's name."""
    for file in sorted(files(f"extensions.{like}").iterdir(), key=lambda file: file.name):
        if file.name.endswith(_ENDINGS):
            text = file.read_text(encoding="utf-8")
            text = _COPIED.sub(_first_line, text) if file.name == "accelerator.py" else text
            yield f"{name}/{_renamed(file.name, name, like)}", _renamed(text, name, like)


def _renamed(text: str, name: str, like: str) -> str:
    text = re.sub(rf"extensions\.{like}|{like}", name, text.replace(": an example to copy", ""))
    return text.replace(like.upper(), name.upper())


def _first_line(found: re.Match[str]) -> str:
    """Shortens the docstring: the background of the example does not apply to the copy."""
    return f'"""{found["first"]}"""'


def _around(name: str, like: str) -> Iterator[tuple[str, str]]:
    """Yields the files that turn the copy into a package."""
    for template, path in (
        ("pyproject.toml.txt", "pyproject.toml"),
        ("readme.md.txt", "README.md"),
        ("test.py.txt", f"tests/test_{name}.py"),
    ):
        text = files(_TEMPLATES).joinpath(template).read_text(encoding="utf-8")
        yield path, text.replace("@NAME@", name).replace("@LIKE@", like)


def _require_name(name: str) -> None:
    """Raises InputError for a name that is invalid for an accelerator, a module or C functions."""
    is_word = re.fullmatch(r"[a-z][a-z0-9_]*", name) is not None
    if not is_word or keyword.iskeyword(name) or not is_c_name(name):
        raise InputError(
            f'"{name}" cannot be the name of an accelerator',
            hint="use lower-case letters, digits and _, for example my_npu: it becomes a Python and a C name",
        )
    if name in accelerator_names():
        raise InputError(f'an accelerator "{name}" already exists', hint="deploy accelerators lists them")
    if find_spec(name) is not None:
        raise InputError(
            f'"{name}" is a Python package on this machine',
            hint="choose another name, which does not hide it",
        )
