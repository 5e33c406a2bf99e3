"""The error pages: a stable code for each kind of error, its meaning, and how to fix it.

A kind is an error class. A new class needs a page in error_pages.toml. An error class of another package has
the code of its base class.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

from aot.errors import DeployError


@dataclass(frozen=True, slots=True)
class ErrorPage:
    """A kind of error: its meaning, and fixes, the most likely first."""

    code: str  # for example "E301"
    kind: str  # name of the error class
    title: str
    meaning: str
    hints: tuple[str, ...]

    def __str__(self) -> str:
        steps = "\n".join(f"  - {way}" for way in self.hints)
        return f"{self.code}: {self.title}\n\n{self.meaning}\n\nwhat to do:\n{steps}"


@functools.cache
def error_pages() -> Mapping[str, ErrorPage]:
    """Returns all pages by code."""
    # Both are slow to load, and most commands need no error page.
    from importlib.resources import as_file, files

    from boards.files import read_toml

    with as_file(files("deploy.cli") / "error_pages.toml") as path:
        table = read_toml(path, "the table of errors")
    return {
        code: ErrorPage(code, page["kind"], page["title"], page["meaning"], tuple(page["hints"]))
        for code, page in table.items()
    }


def page_of(error: DeployError) -> ErrorPage | None:
    """Returns the page of the error's class, or of its nearest base class with a page."""
    by_kind = {page.kind: page for page in error_pages().values()}
    return next((by_kind[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in by_kind), None)


def shown(error: DeployError) -> str:
    """Formats the error for the command line: "error[E301]: ..."."""
    page, text = page_of(error), str(error)
    return text if page is None else text.replace("error: ", f"error[{page.code}]: ", 1)
