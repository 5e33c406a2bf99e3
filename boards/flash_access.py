"""The times of a chip's flash reads, as plain data: the table [flash_access] of a board's file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aot.target import FlashReads
from boards.core_timing import ERROR, KnownError
from boards.schema import FilePlace, Key, OneTable, at_least, boolean, power_of_two


@dataclass(frozen=True, slots=True)
class FlashCache:
    """A cache that evicts the least recently used line."""

    bytes: int
    line_bytes: int
    ways: int  # lines that an address can be in

    @property
    def sets(self) -> int:
        return self.bytes // self.line_bytes // self.ways


@dataclass(frozen=True, slots=True)
class Lines:
    """The unit of reading: a cache line by several reads, or without a cache the bytes of one read."""

    bytes: int
    wait: int  # cycles until all of it is there, except the one that the instruction takes anyway


@dataclass(frozen=True, slots=True)
class FlashAccess:
    """The rules of reading flash, which waits at a high clock unless a cache holds the data."""

    most_hz: tuple[int, ...]  # the highest clock for no wait state, for one, ...; none: it never waits
    bits: int  # that one read gives
    prefetch: bool  # whether the next read is begun while the instructions of the last are executed
    instructions: FlashCache | None
    data: FlashCache | None
    shared: bool  # the two are one cache, described as `instructions`
    known_error: (
        KnownError | None
    )  # of cycles with these waits in them; None: nobody held them against silicon

    def wait_states(self, clock_hz: int) -> int:
        return sum(clock_hz > most for most in self.most_hz)

    def lines(self, cache: FlashCache | None, wait_states: int) -> Lines:
        """The lines that are read for that cache."""
        read_bytes = self.bits // 8
        line_bytes = cache.line_bytes if cache else read_bytes
        return Lines(line_bytes, line_bytes // read_bytes * (wait_states + 1) - 1)

    def data_reads(self, clock_hz: int) -> FlashReads:
        """The reads of constants at that clock, as the compiler sees them."""
        cache, wait_states = self.instructions if self.shared else self.data, self.wait_states(clock_hz)
        lines = self.lines(cache, wait_states)
        wait = lines.wait if wait_states else 0
        return (
            FlashReads(lines.bytes, wait, cache.sets, cache.ways) if cache else FlashReads(lines.bytes, wait)
        )

    def code_cache_bytes(self, clock_hz: int) -> int:
        """The bytes of code that are read again without a wait; 0 where nothing waits, or everything does."""
        return self.instructions.bytes if self.instructions and self.wait_states(clock_hz) else 0


def flash_access(values: Mapping[str, Any]) -> FlashAccess:
    """Makes a FlashAccess of the table that SECTION read."""
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
