"""Renders the project templates with Jinja2; undefined variables are errors."""

from __future__ import annotations

import functools
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jinja2


@functools.cache
def _environment() -> jinja2.Environment:
    import jinja2  # 50 ms to import, and only projects need it

    return jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: template_text(*name.rsplit("/", 1))),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # this is C, not HTML
    )


@functools.cache
def template_text(folder: str, file: str) -> str:
    """Returns the unrendered text of a file in project_templates/<folder>."""
    return (files("project_templates") / folder / file).read_text(encoding="utf-8")


def filled(folder: str, file: str, /, **values: Any) -> str:
    """Renders a template in project_templates/<folder>."""
    return _environment().get_template(f"{folder}/{file}").render(values)


@functools.cache
def c_files(folder: str) -> tuple[tuple[str, str], ...]:
    """Returns the C sources and headers in project_templates/<folder> as sorted (name, text) pairs."""
    names = sorted(entry.name for entry in files("project_templates").joinpath(folder).iterdir())
    return tuple((name, template_text(folder, name)) for name in names if name.endswith((".c", ".h")))
