"""Python operators of expressions: shifts, bits and remainders, and an error for each that has no meaning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from codegen.lang.misuse import misuse

_OWN = "a function(...)"
OF_VALUES: Mapping[str, tuple[str, str]] = {
    "truediv": ("divided by /", f"x // 3 rounds down; multiply by a float, or {_OWN}"),
    "divmod": ("divided by divmod", "x // 3 and x % 3"),
    "pow": ("raised to powers", f"x * x, or {_OWN}"),
    "matmul": ("multiplied by @", "sum(a[i, k] * b[k, j], k)"),
    "abs": ("made positive by abs", "maximum(x, -x)"),
}
_IN_COMPUTE = 'compute("y", shape, lambda i, j: ... x[i, j] ...)'
OF_TENSORS: Mapping[str, tuple[str, str]] = {
    **OF_VALUES,
    **dict.fromkeys(("lt", "le", "gt", "ge"), ("compared as a whole", _IN_COMPUTE)),
    "len": ("counted by len", "x.shape"),
    "bool": ("true or false", _IN_COMPUTE),
}
OF_PLACES: Mapping[str, tuple[str, str]] = {
    "truediv": ("divided by /", "i // 2 is a value, rounded down"),
    "pow": ("raised to powers", "an index is a sum of axes times numbers"),
    "bool": ("true or false while the expression is made", "where(i < 2, x, y) chooses when it runs"),
}
_WITH_A_TURNED_FORM = ("truediv", "divmod", "pow", "matmul")


def refuse_operators(of: type, what: str, refused: Mapping[str, tuple[str, str]]) -> None:
    """Gives a class operators that raise an error, such as "values are not shifted"."""
    for name, (done, hint) in refused.items():
        for method in (f"__{name}__", f"__r{name}__") if name in _WITH_A_TURNED_FORM else (f"__{name}__",):
            setattr(of, method, _refusing(f"{what} are not {done}", hint))


def _refusing(what: str, hint: str) -> Any:
    def refuse(*_operands: object) -> Any:
        raise misuse(what, hint)

    return refuse


Made = TypeVar("Made")


class WholeOperators(Generic[Made]):
    """`//` and `%` round down, as in NumPy; `>>` keeps the sign."""

    def _by(self, op: str, other: Any) -> Made:
        """Returns the result with this object on the left."""
        raise NotImplementedError

    def _under(self, op: str, other: Any) -> Made:
        """Returns the result with this object on the right."""
        raise NotImplementedError

    def __lshift__(self, other: Any) -> Made:
        return self._by("<<", other)

    def __rlshift__(self, other: Any) -> Made:
        return self._under("<<", other)

    def __rshift__(self, other: Any) -> Made:
        return self._by(">>", other)

    def __rrshift__(self, other: Any) -> Made:
        return self._under(">>", other)

    def __and__(self, other: Any) -> Made:
        return self._by("&", other)

    def __rand__(self, other: Any) -> Made:
        return self._under("&", other)

    def __or__(self, other: Any) -> Made:
        return self._by("|", other)

    def __ror__(self, other: Any) -> Made:
        return self._under("|", other)

    def __xor__(self, other: Any) -> Made:
        return self._by("^", other)

    def __rxor__(self, other: Any) -> Made:
        return self._under("^", other)

    def __floordiv__(self, other: Any) -> Made:
        return self._by("//", other)

    def __rfloordiv__(self, other: Any) -> Made:
        return self._under("//", other)

    def __mod__(self, other: Any) -> Made:
        return self._by("%", other)

    def __rmod__(self, other: Any) -> Made:
        return self._under("%", other)

    def __invert__(self) -> Made:
        return self._by("~", None)
