"""The syntax trees of the repository's files, each parsed once: most rules of the house read all of them."""

from __future__ import annotations

import ast
from functools import cache


@cache
def tree_of(text: str) -> ast.Module:
    """The tree of a file with that text. It is shared: nobody changes it."""
    return ast.parse(text)
