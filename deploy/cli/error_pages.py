"""The pages of errors: a code for each kind of error, which never changes, and what to do about it.

A kind is a class of errors. A new class needs a page in error_pages.toml; the class of somebody else's
package has the code of the class that it is made from.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

from aot.errors import DeployError


@dataclass(frozen=True, slots=True)
class ErrorPage:
    """One kind of error: what it means, and ways out, the likeliest first."""

    code: str  # "E301"
    kind: str  # the name of the error's class
    title: str
    meaning: str
    ways_out: tuple[str, ...]

    def __str__(self) -> str:
        steps = "\n".join(f"  - {way}" for way in self.ways_out)
        return f"{self.code}: {self.title}\n\n{self.meaning}\n\nwhat to do:\n{steps}"


@functools.cache
def error_pages() -> Mapping[str, ErrorPage]:
    """All pages by their codes."""
    # Both take their time, and most command lines are right.
    from importlib.resources import as_file, files

    from boards.files import read_toml

    with as_file(files("deploy.cli") / "error_pages.toml") as path:
        table = read_toml(path, "the table of errors")
    return {
        code: ErrorPage(code, page["kind"], page["title"], page["meaning"], tuple(page["ways_out"]))
        for code, page in table.items()
    }


def page_of(error: DeployError) -> ErrorPage | None:
    """The page of the error's kind, or of the nearest kind that it is made from."""
    by_kind = {page.kind: page for page in error_pages().values()}
    return next((by_kind[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in by_kind), None)


def shown(error: DeployError) -> str:
    """The error as the command line shows it: "error[E301]: ..."."""
    page, text = page_of(error), str(error)
    return text if page is None else text.replace("error: ", f"error[{page.code}]: ", 1)
