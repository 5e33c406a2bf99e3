"""Finds lines in the user's program that failed or define something."""

from __future__ import annotations

import ast
import inspect
import sysconfig
import textwrap
import traceback
from pathlib import Path
from types import FrameType
from typing import Any

_INSTALLED = tuple(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))


def is_users(file: str) -> bool:
    """Returns whether a file belongs to no installed package."""
    is_code = not file.startswith("<") and Path(file).suffix == ".py"
    ours = Path(__file__).parents[2]
    return is_code and not file.startswith(_INSTALLED) and ours / "deploy" not in Path(file).parents


def last_users_frame(error: BaseException) -> tuple[FrameType, int] | None:
    """Returns the innermost of the user's frames in an error's traceback, and its line."""
    frames = [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    own = [(frame, line) for frame, line in frames if is_users(frame.f_code.co_filename)]
    return own[-1] if own else None


def line_text(file: str, line: int) -> str:
    return f"{Path(file).name}, line {line}"


def defined_at(thing: Any) -> str:
    """Returns the first line of a user's function or class, or "" for installed code."""
    try:
        file, (_, line) = inspect.getsourcefile(thing), inspect.getsourcelines(thing)
    except (OSError, TypeError):
        return ""
    return line_text(file, line) if file and is_users(file) else ""


def assigned_at(kind: type, attribute: str) -> str:
    """Returns the first line outside __init__ where a user's class writes self.<attribute>, or ""."""
    try:
        file, (lines, start) = inspect.getsourcefile(kind), inspect.getsourcelines(kind)
    except (OSError, TypeError):
        return ""
    tree = ast.parse(textwrap.dedent("".join(lines)))
    methods = [
        each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef) and each.name != "__init__"
    ]
    nodes = (node for method in methods for node in ast.walk(method))
    written = [
        node.lineno for node in nodes if isinstance(node, ast.stmt | ast.expr) and _writes(node, attribute)
    ]
    return line_text(file, start + min(written) - 1) if file and written and is_users(file) else ""


def _writes(node: ast.AST, attribute: str) -> bool:
    """Returns whether a node assigns self.<attribute> or its elements, or calls an in-place method of it."""
    if isinstance(node, ast.Assign):
        return any(_is_own(target, attribute) for target in node.targets)
    if isinstance(node, ast.AugAssign | ast.AnnAssign):
        return _is_own(node.target, attribute)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr.endswith("_") and _is_own(node.func.value, attribute)
    return False


def _is_own(node: ast.AST, attribute: str) -> bool:
    while isinstance(node, ast.Subscript):
        node = node.value
    return isinstance(node, ast.Attribute) and node.attr == attribute
