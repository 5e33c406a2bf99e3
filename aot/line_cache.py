"""Models a set-associative cache with least-recently-used eviction."""

from __future__ import annotations


class LineCache:
    """Tracks which lines are cached. Each of `sets` sets holds up to `ways` lines."""

    def __init__(self, sets: int, ways: int) -> None:
        self._ways = ways
        self._sets: list[dict[int, None]] = [{} for _ in range(sets)]

    def take(self, line: int) -> bool:
        """Accesses a line by its number; returns whether it was cached. It is cached afterwards."""
        lines = self._sets[line % len(self._sets)]
        held = line in lines
        if held:
            del lines[line]
        elif len(lines) == self._ways:
            del lines[next(iter(lines))]
        lines[line] = None  # the most recently used
        return held
