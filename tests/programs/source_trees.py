"""The syntax trees of the repository's files, each parsed and walked once: most house rules read all."""

import ast
from collections.abc import Sequence
from functools import cache


@cache
def tree_of(text: str) -> ast.Module:
    """The tree of a file with that text. It is shared: nobody changes it."""
    return ast.parse(text)


@cache
def nodes_of(text: str) -> Sequence[ast.AST]:
    """All nodes of that tree, as ast.walk finds them."""
    return tuple(ast.walk(tree_of(text)))
