"""A cache of flash that is filled by whole lines and evicts the least recently used one."""

from __future__ import annotations

from boards.flash_access import FlashCache


class LineCache:
    """Remembers which lines are there."""

    def __init__(self, facts: FlashCache) -> None:
        self._ways = facts.ways
        self._sets: list[dict[int, None]] = [{} for _ in range(facts.sets)]

    def take(self, line: int) -> bool:
        """Uses a line, by its number in flash; returns whether it was there. Now it is."""
        lines = self._sets[line % len(self._sets)]
        held = line in lines
        if held:
            del lines[line]
        elif len(lines) == self._ways:
            del lines[next(iter(lines))]
        lines[line] = None  # behind all others
        return held
