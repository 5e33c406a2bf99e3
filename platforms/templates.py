"""Fills in the project templates: one Jinja2 environment, strict about names."""

from __future__ import annotations

import functools
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jinja2


@functools.cache
def _environment() -> jinja2.Environment:
    import jinja2  # a twentieth of a second that only projects need

    return jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # this is C, not HTML
    )


@functools.cache
def _template(folder: str, file: str) -> jinja2.Template:
    return _environment().from_string(template_text(folder, file))


@functools.cache
def template_text(folder: str, file: str) -> str:
    """A file of project_templates/<folder> as it is."""
    return (files("project_templates") / folder / file).read_text(encoding="utf-8")


def filled(folder: str, file: str, /, **values: Any) -> str:
    """A template of project_templates/<folder> with its names filled in."""
    return _template(folder, file).render(values)


@functools.cache
def c_files(folder: str) -> tuple[tuple[str, str], ...]:
    """The C sources and headers of project_templates/<folder>, as (name, text), sorted."""
    names = sorted(entry.name for entry in files("project_templates").joinpath(folder).iterdir())
    return tuple((name, template_text(folder, name)) for name in names if name.endswith((".c", ".h")))
