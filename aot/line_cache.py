"""A cache that is filled by whole lines and evicts the least recently used one."""

from __future__ import annotations


class LineCache:
    """Remembers which lines are there. A line goes into one of the sets, which holds so many."""

    def __init__(self, sets: int, ways: int) -> None:
        self._ways = ways
        self._sets: list[dict[int, None]] = [{} for _ in range(sets)]

    def take(self, line: int) -> bool:
        """Uses a line, by its number in memory; returns whether it was there. Now it is."""
        lines = self._sets[line % len(self._sets)]
        held = line in lines
        if held:
            del lines[line]
        elif len(lines) == self._ways:
            del lines[next(iter(lines))]
        lines[line] = None  # behind all others
        return held
