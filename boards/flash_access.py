"""Timing of a chip's flash reads: the table [flash_access] of a board file, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aot.target import FlashReads
from boards.cores import ERROR, KnownError
from boards.schema import FilePlace, Key, OneTable, at_least, boolean, power_of_two


@dataclass(frozen=True, slots=True)
class FlashCache:
    """A cache with least-recently-used replacement."""

    bytes: int
    line_bytes: int
    ways: int  # associativity

    @property
    def sets(self) -> int:
        return self.bytes // self.line_bytes // self.ways


@dataclass(frozen=True, slots=True)
class Lines:
    """The unit of a flash access: a cache line or, without a cache, the bytes of one read."""

    bytes: int
    wait: int  # cycles until the line is complete, without the one cycle that every access costs


@dataclass(frozen=True, slots=True)
class FlashAccess:
    """Flash timing. At a high clock, flash has wait states unless a cache holds the data."""

    most_hz: tuple[int, ...]  # maximum clocks for 0, 1, ... wait states; empty: no wait states at any clock
    bits: int  # width of one read
    prefetch: bool  # the next read starts while the previous instructions execute
    instructions: FlashCache | None
    data: FlashCache | None
    shared: bool  # one cache for both, described in `instructions`
    known_error: KnownError | None  # of cycles including these waits; None: not compared with silicon

    def wait_states(self, clock_hz: int) -> int:
        return sum(clock_hz > most for most in self.most_hz)

    def lines(self, cache: FlashCache | None, wait_states: int) -> Lines:
        """Returns the line that one access reads through `cache`."""
        read_bytes = self.bits // 8
        line_bytes = cache.line_bytes if cache else read_bytes
        return Lines(line_bytes, line_bytes // read_bytes * (wait_states + 1) - 1)

    def data_reads(self, clock_hz: int) -> FlashReads:
        """Returns how constants are read at this clock, for the compiler's cost model."""
        cache, wait_states = self.instructions if self.shared else self.data, self.wait_states(clock_hz)
        lines = self.lines(cache, wait_states)
        wait = lines.wait if wait_states else 0
        return (
            FlashReads(lines.bytes, wait, cache.sets, cache.ways) if cache else FlashReads(lines.bytes, wait)
        )

    def code_cache_bytes(self, clock_hz: int) -> int:
        """Returns the size of the instruction cache; 0 without a cache or without wait states."""
        return self.instructions.bytes if self.instructions and self.wait_states(clock_hz) else 0


def flash_access(values: Mapping[str, Any]) -> FlashAccess:
    """Converts a table read with SECTION."""
    caches = {name: values[name] and FlashCache(**values[name]) for name in ("instructions", "data")}
    error = values["known_error"]
    return FlashAccess(**{**values, **caches, "known_error": error and KnownError(**error)})


def _clocks(value: Any, name: str, place: FilePlace) -> tuple[int, ...]:
    read = at_least(1)
    return (
        tuple(read(each, name, place) for each in value)
        if isinstance(value, list)
        else (read(value, name, place),)
    )


_CACHE = OneTable({"bytes": Key(power_of_two), "line_bytes": Key(power_of_two), "ways": Key(at_least(1))})
SECTION = OneTable(
    {
        "most_hz": Key(_clocks),
        "bits": Key(power_of_two),
        "prefetch": Key(boolean, False),
        "instructions": Key(_CACHE, None),
        "data": Key(_CACHE, None),
        "shared": Key(boolean, False),
        "known_error": Key(ERROR, None),
    }
)
