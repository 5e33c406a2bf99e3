"""Adapts the request size to the line quality: halved after damage, doubled after success."""

from __future__ import annotations

from dataclasses import dataclass

SMALLEST_CHUNK = 16  # below this size, frame overhead dominates


@dataclass(frozen=True, slots=True)
class ChunkSize:
    most: int  # limit of the device
    shift: int = 0  # number of halvings

    @property
    def bytes(self) -> int:
        return max(min(SMALLEST_CHUNK, self.most), self.most >> self.shift)

    def after_damage(self) -> ChunkSize:
        return ChunkSize(self.most, self.shift + 1 if self.bytes > SMALLEST_CHUNK else self.shift)

    def after_success(self) -> ChunkSize:
        return ChunkSize(self.most, max(0, self.shift - 1))
