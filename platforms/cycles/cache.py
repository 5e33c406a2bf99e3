"""A cache of flash in which each read fills its part of a line; what was not used for longest goes first."""

from __future__ import annotations

from boards.flash_access import FlashCache


class Cache:
    """Remembers lines and which parts of them are there. A part is what one read of the flash gives."""

    def __init__(self, facts: FlashCache, part_bytes: int) -> None:
        self._ways = facts.ways
        self._sets: list[dict[int, int]] = [{} for _ in range(facts.sets)]
        self.parts_per_line = facts.line_bytes // part_bytes

    def take(self, part: int) -> bool:
        """Uses a part, by its number in flash; returns whether it was there. Now it is."""
        line, place = divmod(part, self.parts_per_line)
        lines = self._sets[line % len(self._sets)]
        held = lines.pop(line, 0)
        bit = 1 << place
        lines[line] = held | bit  # behind all others
        if len(lines) > self._ways:
            del lines[next(iter(lines))]
        return bool(held & bit)
