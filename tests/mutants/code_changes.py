"""Small changes of Python code, each of which should make a test fail: found in its tree, shown as text.

A change is known by the line that it is in and what becomes of it, not by file or line number, so that it
survives when code moves.
"""

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}
ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "+",
    ast.FloorDiv: "*",
    ast.Mod: "//",
    ast.LShift: ">>",
    ast.RShift: "<<",
}
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True)
class Change:
    """One replacement in one file."""

    path: Path
    line: int  # from 1
    begin: int  # where the replaced text begins and ends in the file, in characters
    end: int
    replacement: str
    before: str  # the line, without its indentation
    after: str
    is_named_constant: bool  # of a table or a limit at the level of the file
    number: int = 0  # of equal lines in the file, which one

    @property
    def text(self) -> str:
        again = f"  (no. {self.number + 1})" if self.number else ""
        return f"{self.before}  ->  {self.after}{again}"

    @property
    def where(self) -> str:
        return f"{self.path.name}:{self.line}"

    @property
    def rank(self) -> str:
        """Orders changes in a way that does not depend on where they are."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def changed(self) -> str:
        text = self.path.read_text(encoding="utf-8")
        return text[: self.begin] + self.replacement + text[self.end :]


def changes_in(path: Path) -> list[Change]:
    """All of a file, in its order."""
    source = _Source(path)
    seen: Counter[str] = Counter()
    found = []
    for begin, end, replacement, is_named_constant in sorted(_replacements(source)):
        change = source.change(begin, end, replacement, is_named_constant)
        if change is not None:
            found.append(Change(**{**vars(change), "number": seen[change.text]}))
            seen[change.text] += 1
    return found


class _Source:
    """A file with its tree, and the places of its nodes."""

    def __init__(self, path: Path) -> None:
        self.path, self.text = path, path.read_text(encoding="utf-8")
        self.lines = self.text.splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))
        self.tree = ast.parse(self.text)

    def begin(self, node: ast.expr) -> int:
        return self._place(node.lineno, node.col_offset)

    def end(self, node: ast.expr) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._place(node.end_lineno, node.end_col_offset)

    def _place(self, line: int, utf8_column: int) -> int:
        before = self.lines[line - 1].encode()[:utf8_column]
        return self.starts[line - 1] + len(before.decode())

    def between(self, left: ast.expr, right: ast.expr, old: str) -> tuple[int, int] | None:
        """Where an operator stands between its operands."""
        found = self.text.find(old, self.end(left), self.begin(right))
        return None if found < 0 else (found, found + len(old))

    def change(self, begin: int, end: int, replacement: str, is_named_constant: bool) -> Change | None:
        number = sum(start <= begin for start in self.starts[:-1])
        start, line = self.starts[number - 1], self.lines[number - 1]
        if end > start + len(line):  # over several lines
            return None
        if replacement == self.text[begin:end]:  # a tenth of zero
            return None
        after = line[: begin - start] + replacement + line[end - start :]
        return Change(
            self.path, number, begin, end, replacement, line.strip(), after.strip(), is_named_constant
        )


Replacement = tuple[int, int, str, bool]


def _replacements(source: _Source) -> Iterator[Replacement]:
    named = set(_named_constants(source.tree))
    for node in _changeable(source.tree):
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                yield from _operator(source, left, right, _symbol(op), COMPARISONS.get(type(op)))
            case ast.BinOp(left=left, op=operator, right=right):
                yield from _operator(source, left, right, _symbol(operator), ARITHMETIC.get(type(operator)))
            case ast.BoolOp(op=both, values=[left, right, *_]):
                is_and = isinstance(both, ast.And)
                yield from _operator(source, left, right, *(("and", "or") if is_and else ("or", "and")))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield source.begin(node), source.begin(operand), "", False
            case ast.Call(func=ast.Name(id=name)) if name in CALLS:
                yield source.begin(node.func), source.end(node.func), CALLS[name], False
            case ast.Constant(value=bool() as truth):
                yield source.begin(node), source.end(node), str(not truth), False
            case ast.Constant(value=int() | float() as number):
                yield source.begin(node), source.end(node), _other(number), node in named


def _operator(
    source: _Source, left: ast.expr, right: ast.expr, old: str, new: str | None
) -> Iterator[Replacement]:
    place = source.between(left, right, old) if new else None
    if place and new:
        yield (*place, new, False)


_SYMBOLS = {
    "Lt": "<",
    "LtE": "<=",
    "Gt": ">",
    "GtE": ">=",
    "Eq": "==",
    "NotEq": "!=",
    "In": "in",
    "NotIn": "not in",
    "Is": "is",
    "IsNot": "is not",
    "Add": "+",
    "Sub": "-",
    "Mult": "*",
    "FloorDiv": "//",
    "Mod": "%",
    "LShift": "<<",
    "RShift": ">>",
}


def _symbol(operator: ast.AST) -> str:
    return _SYMBOLS.get(type(operator).__name__, "\0")


def _other(number: float) -> str:
    """A tenth of what is large, so that a limit is felt; one more of what is small."""
    if isinstance(number, float):
        return repr(number / 10)
    return str(number // 10 if number >= 10 else number + 1)


def _named_constants(tree: ast.Module) -> Iterator[ast.Constant]:
    """The numbers in what is assigned to a name of capitals at the level of the file."""
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name.isupper():
                yield from (node for node in ast.walk(value) if isinstance(node, ast.Constant))
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if name.isupper():
                yield from (node for node in ast.walk(value) if isinstance(node, ast.Constant))


def _changeable(node: ast.AST) -> Iterator[ast.expr]:
    """Every expression but types, what decorates, assertions, and the texts of errors."""
    match node:
        case ast.Assert() | ast.Raise() | ast.JoinedStr():
            return
        case ast.AnnAssign(value=value):
            inner: list[ast.AST] = [value] if value else []
        case ast.FunctionDef(body=body, args=arguments):
            inner = [*arguments.defaults, *(d for d in arguments.kw_defaults if d), *body]
        case ast.ClassDef(body=body):
            inner = [*body]
        case _:
            inner = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.expr):
        yield node
    for child in inner:
        yield from _changeable(child)
