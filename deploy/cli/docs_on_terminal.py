"""Lays a page of the documentation out for a terminal: its tables and paragraphs as wide as that is."""

from __future__ import annotations

import re
import sys

from rich.console import Console
from rich.markdown import Markdown

_PICTURE = re.compile(r"!\[([^]]*)]\([^)]*\)")
_LINK = re.compile(r"(?<!!)\[([^]]+)]\((?!https?:)[^)]*\)")  # to pages and files, which nothing opens here


def print_on_terminal(markdown: str, columns: int) -> None:
    """Prints the page on stdout; of pictures their words are shown, and of links what they say."""
    text = _LINK.sub(r"\1", _PICTURE.sub(r"(picture: \1)", markdown))
    console = Console(file=sys.stdout, width=columns, emoji=False, highlight=False)
    console.print(Markdown(text, code_theme="ansi_dark", hyperlinks=False))
