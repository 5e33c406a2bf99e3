"""Documentation pages and error pages, which are installed with Solder."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from aot.errors import DeployError, InputError, did_you_mean
from deploy.cli.command_result import Answer
from deploy.cli.console import table

_PACKAGE = Path(__file__).parents[1]
_FOLDERS = (_PACKAGE / "pages", _PACKAGE.parent / "docs")  # in a wheel, in the source tree
_SETS = ("*.md", "tutorials/*.md")  # included in wheels by docs/site/in_the_wheel.py


def docs(page: str | None = None) -> Answer:
    """Lists the documentation pages, or returns one of them as Markdown."""
    pages = manual_pages()
    if page is None:
        rows = [(name, _title(path)) for name, path in pages.items()]
        facts = [{"name": name, "title": title} for name, title in rows]
        return Answer(facts, f"{table(('page', 'about'), rows)}\n\nshow one with: deploy docs PAGE")
    name = _name_of(page, pages)
    text = pages[name].read_text(encoding="utf-8")
    return Answer({"name": name, "title": _title(pages[name]), "text": text}, text.rstrip())


def manual_pages() -> Mapping[str, Path]:
    """Returns the files of all pages by name, such as "ops" or "tutorials/own-op"."""
    folder = next(folder for folder in _FOLDERS if folder.is_dir())
    paths = (path for pages in _SETS for path in sorted(folder.glob(pages)))
    return {path.relative_to(folder).with_suffix("").as_posix(): path for path in paths}


def _name_of(page: str, pages: Mapping[str, Path]) -> str:
    """Returns a page's full name; accepts spellings such as docs/ops.md or own-op."""
    asked = page.partition("#")[0].removeprefix("docs/").removesuffix(".md").lower()
    short = {name.rpartition("/")[2]: name for name in pages}
    if asked in pages:
        return asked
    if asked in short:
        return short[asked]
    raise InputError(
        f'there is no page "{page}"{did_you_mean(asked, [*pages, *short])}',
        hint="list all pages with: deploy docs",
    )


def _title(path: Path) -> str:
    with path.open(encoding="utf-8") as lines:
        return next(lines).removeprefix("# ").strip()


# The error pages: a stable code for each kind of error, its meaning, and how to fix it.
#
# A kind is an error class. A new class needs a page in error_pages.toml. An error class of another package
# has the code of its base class.


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
