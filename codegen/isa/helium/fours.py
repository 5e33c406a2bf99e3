"""Helium: C code of a loop over 32-bit lanes, four at a time."""

from __future__ import annotations

from dataclasses import dataclass

_LANES = 4


@dataclass(frozen=True, slots=True)
class Fours:
    """A loop of u over `count` elements. Lanes after the last one are neither loaded nor stored."""

    count: int
    element: str  # of the names of loads and stores: h for halves, w for words
    lane: str  # s32, f32

    def loop(self, body: list[str]) -> list[str]:
        last = [f"const mve_pred16_t valid = vctp32q((uint32_t)({self.count} - u));"] if self._masked else []
        head = f"    for (int32_t u = 0; u < {self.count}; u += {_LANES}) {{"
        return [head, *(f"        {line}" for line in (*last, *body)), "    }"]

    def loaded(self, place: str) -> str:
        name = f"vldr{self.element}q"
        return f"{name}_z_{self.lane}({place}, valid)" if self._masked else f"{name}_{self.lane}({place})"

    def stored(self, place: str, value: str) -> str:
        name, mask = (f"vstr{self.element}q_p", ", valid") if self._masked else (f"vstr{self.element}q", "")
        return f"{name}_{self.lane}({place}, {value}{mask});"

    @property
    def _masked(self) -> bool:
        return self.count % _LANES > 0
