"""Costs of splitting values into rows on a core; the compiler passes them to the passes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CostModel:
    """Times are in multiplications of the core's convolutions, which dominate the run time."""

    # Time that a row loses, in pixels, by the number of pixels left over for its last tile.
    lost_pixels_by_remainder: tuple[float, ...]
    macs_per_copied_byte: float  # for gathering overlapping windows
    macs_per_call: int  # per call of a kernel that computes one row
    min_macs_per_row: int  # with fewer, starting a row of a matrix product costs noticeable time
    min_row_bytes: int  # shorter rows are not worth their pointer, unless a layer needs them

    def lost_pixels(self, pixels: int) -> float:
        """Returns the time that a row of `pixels` pixels loses, in pixels."""
        return self.lost_pixels_by_remainder[pixels % len(self.lost_pixels_by_remainder)]
