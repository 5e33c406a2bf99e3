"""The rule by which a pointer advances from row to row: through a tensor or around a ring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from codegen.tables.replay import Place

MOST = 0xFFFF


@dataclass(frozen=True, slots=True)
class Rule:
    """The pointer for the n-th row is `offset + (start + n * stride) % held * unit`; 0 held: no ring."""

    memory: int
    offset: int  # bytes
    unit: int = 0  # bytes
    stride: int = 0
    start: int = 0
    held: int = 0

    def offset_of(self, n: int) -> int:
        number = self.start + n * self.stride
        return self.offset + (number % self.held if self.held else number) * self.unit


def rule_of(places: Sequence[Place]) -> Rule | None:
    """Returns the rule of a pointer for consecutive rows, or None if there is none."""
    if len({place.memory for place in places}) > 1:
        return None
    offsets = [place.offset for place in places]
    low = min(offsets)
    unit = gcd(*(offset - low for offset in offsets))
    memory = places[0].memory
    if not unit:
        return Rule(memory, low)
    numbers = [(offset - low) // unit for offset in offsets]
    back = next((n for n in range(1, len(numbers)) if numbers[n] < numbers[n - 1]), None)
    forward = numbers[1] - numbers[0]
    if back is None:
        found = Rule(memory, low, unit, forward, numbers[0])
    elif back == 1:  # starts at the end of a ring
        held = max(numbers) + 1
        found = Rule(memory, low, unit, forward % held, numbers[0], held)
    else:
        held = numbers[back - 1] + forward - numbers[back]
        found = Rule(memory, low, unit, forward, numbers[0], held)
    fits = max(found.unit, found.stride, found.start, found.held) <= MOST and found.stride >= 0
    is_so = fits and all(found.offset_of(n) == offset for n, offset in enumerate(offsets))
    return found if is_so else None
