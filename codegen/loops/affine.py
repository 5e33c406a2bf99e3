"""Index arithmetic: integer-affine sums of loop variables, kept in one normal form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Affine:
    """A sum of coefficient * variable, plus a constant. Terms are sorted by name; zero terms are dropped."""

    terms: tuple[tuple[str, int], ...] = ()
    constant: int = 0

    def __add__(self, other: Affine | int) -> Affine:
        other = to_affine(other)
        sums = dict(self.terms)
        for name, factor in other.terms:
            sums[name] = sums.get(name, 0) + factor
        return _normal(sums, self.constant + other.constant)

    __radd__ = __add__

    def __sub__(self, other: Affine | int) -> Affine:
        return self + to_affine(other) * -1

    def __mul__(self, factor: int) -> Affine:
        return _normal({name: f * factor for name, f in self.terms}, self.constant * factor)

    __rmul__ = __mul__

    def coefficient(self, name: str) -> int:
        return next((factor for its, factor in self.terms if its == name), 0)

    @property
    def variables(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.terms)

    @property
    def is_constant(self) -> bool:
        return not self.terms

    def substitute(self, values: Mapping[str, Affine | int]) -> Affine:
        """Returns the sum with every variable in `values` replaced by its value."""
        replaced = [term for term in self.terms if term[0] in values]
        if not replaced:
            return self
        sums = {name: factor for name, factor in self.terms if name not in values}
        constant = self.constant
        for name, factor in replaced:
            value = to_affine(values[name])
            constant += value.constant * factor
            for inner, step in value.terms:
                sums[inner] = sums.get(inner, 0) + step * factor
        return _normal(sums, constant)

    def evaluate(self, values: Mapping[str, int]) -> int:
        return self.constant + sum(factor * values[name] for name, factor in self.terms)

    def __str__(self) -> str:
        parts = [name if factor == 1 else f"{name} * {factor}" for name, factor in self.terms]
        if self.constant or not parts:
            parts.append(str(self.constant))
        return " + ".join(parts).replace("+ -", "- ")


def variable(name: str) -> Affine:
    return Affine(((name, 1),))


def to_affine(value: Affine | int) -> Affine:
    return value if isinstance(value, Affine) else Affine(constant=value)


def _normal(sums: Mapping[str, int], constant: int) -> Affine:
    return Affine(tuple(sorted([term for term in sums.items() if term[1]])), constant)
