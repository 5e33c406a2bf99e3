"""Formats a documentation page for the width of a terminal."""

from __future__ import annotations

import re
import sys

from rich.console import Console
from rich.markdown import Markdown

_PICTURE = re.compile(r"!\[([^]]*)]\([^)]*\)")
_LINK = re.compile(r"(?<!!)\[([^]]+)]\((?!https?:)[^)]*\)")  # to pages and files, which no terminal opens


def print_on_terminal(markdown: str, columns: int) -> None:
    """Prints the page on stdout. Pictures are replaced by their alternative text, links by their text."""
    text = _LINK.sub(r"\1", _PICTURE.sub(r"(picture: \1)", markdown))
    console = Console(file=sys.stdout, width=columns, emoji=False, highlight=False)
    console.print(Markdown(text, code_theme="ansi_dark", hyperlinks=False))
