"""Finds documentation pages, which are installed with Solder, for `deploy docs`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from aot.errors import InputError, did_you_mean
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
