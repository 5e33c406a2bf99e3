"""Chooses how much to send in a request: halved when the line damages it, doubled when it gets through."""

from __future__ import annotations

from dataclasses import dataclass

SMALLEST_CHUNK = 16  # below this the frame's own bytes outweigh the data


@dataclass(frozen=True, slots=True)
class ChunkSize:
    most: int  # what the device takes
    shift: int = 0  # how often halved

    @property
    def bytes(self) -> int:
        return max(min(SMALLEST_CHUNK, self.most), self.most >> self.shift)

    def after_damage(self) -> ChunkSize:
        return ChunkSize(self.most, self.shift + 1 if self.bytes > SMALLEST_CHUNK else self.shift)

    def after_success(self) -> ChunkSize:
        return ChunkSize(self.most, max(0, self.shift - 1))
