"""Python operators for shifts, bits and remainders, shared by values, tensors and positions."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

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
