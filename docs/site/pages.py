"""Hooks of MkDocs: pages of the site that lie elsewhere in the repository, and links to other files."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from textwrap import wrap
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # of this tree, whatever is installed
FROM_THE_ROOT = {
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
}
CHANGES = "changes.md"
# Pages that people look for by the words of their title; reference pages have the same words more often.
_FOUND_FIRST = {
    "adding-an-accelerator.md",
    "apps.md",
    "boards.md",
    "cartridges.md",
    "evidence.md",
    "exporting.md",
    "memory.md",
    "troubleshooting.md",
    "zephyr.md",
}
_LINK = re.compile(r"(\]\()([^)\s]+)(\))")


def on_config(config: Any) -> Any:
    """Adds a page for each command and each Python function to the navigation, under Reference."""
    for part in config.nav:
        if "Reference" in part:
            part["Reference"] += [
                {"Commands": [f"reference/{name}.md" for name in _commands()]},
                {"Python functions": [f"python/{name}.md" for name in _functions()]},
            ]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Adds the generated pages."""
    from mkdocs.structure.files import File

    made = {page: (ROOT / name).read_text(encoding="utf-8") for name, page in FROM_THE_ROOT.items()}
    made[CHANGES] = changes_page(ROOT / "docs" / "changes", ROOT / "CHANGELOG.md")
    made |= {f"reference/{name}.md": command_page(name) for name in _commands()}
    made |= {f"python/{name}.md": function_page(name) for name in _functions()}
    for name, text in made.items():
        files.append(File.generated(config, name, content=from_the_root(text)))
    return files


def _commands() -> list[str]:
    from deploy.cli.commands import COMMANDS

    return sorted(COMMANDS)


def _functions() -> list[str]:
    import deploy

    return sorted(name for name in deploy.__all__ if inspect.isfunction(getattr(deploy, name)))


def command_page(name: str) -> str:
    """Returns the complete help of a command as a page."""
    from deploy.cli.command import command_parser, load_command
    from deploy.cli.help_page import help_rows, usage

    parser = command_parser(name, load_command(name))
    parts = [f"# deploy {name}", parser.description or "", _fenced(usage(parser))]
    for title, rows in help_rows(parser, is_complete=True):
        parts += [f"## {title}", _table("argument" if title == "Arguments" else "option", rows)]
    if parser.epilog:
        parts += ["## Examples", _fenced(parser.epilog)]
    return "\n\n".join(filter(None, parts)) + "\n"


def function_page(name: str) -> str:
    """Returns the signature and the docstring of a Python function as a page."""
    import deploy

    function = getattr(deploy, name)
    own = [
        each for each in inspect.signature(function).parameters.values() if each.kind is not each.KEYWORD_ONLY
    ]
    call = f"deploy.{name}({', '.join(str(each).partition(':')[0] for each in own)}, ...)"
    paragraphs = map(_paragraph, (inspect.getdoc(function) or "").split("\n\n"))
    return "\n\n".join((f"# deploy.{name}", _fenced("\n    ".join(wrap(call, 76))), *paragraphs)) + "\n"


def _paragraph(text: str) -> str:
    """A paragraph of a docstring; a list of parameters becomes a table."""
    head, *rows = text.splitlines()
    if not head.endswith(":") or not all(row.startswith("    ") for row in rows):
        return text
    return (
        f"## {head.rstrip(':')}\n\n{_table('parameter', (row.strip().partition(': ')[::2] for row in rows))}"
    )


def _table(head: str, rows: Iterable[tuple[str, str]]) -> str:
    cells = [f"| `{form}` | {_escaped(meaning)} |" for form, meaning in rows]
    return "\n".join((f"| {head} | meaning |", "|---|---|", *cells))


def _escaped(text: str) -> str:
    """Help is plain text: what Markdown would read as marks is shown."""
    return re.sub(r"([|*_<\[\]])", r"\\\1", text)


def _fenced(text: str) -> str:
    return f"```text\n{text.strip()}\n```"


def from_the_root(text: str) -> str:
    """The text of a page of the root with links as they are from docs/."""

    def led(found: re.Match[str]) -> str:
        target = found[2].removeprefix("docs/")
        return f"{found[1]}{FROM_THE_ROOT.get(target, target)}{found[3]}"

    return _LINK.sub(led, text)


def on_page_markdown(markdown: str, page: Any, **_more: Any) -> str:
    """Leads links to pages of the root to their copies; links to files that are not pages keep their name
    only.
    """
    if page.file.src_uri == "index.md":
        page.meta["hide"] = ["navigation"]  # it has the room
    if page.file.src_uri == CHANGES:
        page.meta["search"] = {"exclude": True}  # everything was a change once
    elif page.file.src_uri in _FOUND_FIRST:
        page.meta["search"] = {"boost": 3}
    depth = page.file.src_uri.count("/")
    return with_links(markdown, depth)


def with_links(markdown: str, depth: int) -> str:
    """The text of a page that lies so many folders below docs/."""
    up = "../" * depth

    def led(found: re.Match[str]) -> str:
        target, _, anchor = found[2].partition("#")
        name = target.removeprefix(up).removeprefix("../")
        if name in FROM_THE_ROOT:
            return f"{found[1]}{up}{FROM_THE_ROOT[name]}{'#' + anchor if anchor else ''}{found[3]}"
        return found[0]

    return _LINK.sub(led, markdown)


def changes_page(folder: Path, changelog: Path) -> str:
    """The changelog, with what its summary of unreleased changes does not hold yet."""
    title, versions, rest = changelog.read_text(encoding="utf-8").partition("\n## ")
    notes = [path.read_text(encoding="utf-8").strip() for path in sorted(folder.glob("*-*.md"))]
    latest = "".join(f"\n{_as_item(note)}" for note in notes).replace("](../", "](docs/")
    return f"{title}\n## Latest changes\n{latest}\n{versions}{rest}" if notes else title + versions + rest


def _as_item(text: str) -> str:
    """A fragment in a list; some are lists themselves."""
    return text if text.startswith("- ") else "- " + text.replace("\n", "\n  ")
