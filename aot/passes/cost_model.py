"""The costs of splitting values into rows on a core; the compiler hands them to the passes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CostModel:
    """Times are in multiplications of the core's own convolutions, which take most of the time."""

    # Pixels' worth of time that a row loses, by the number of pixels that its last tile leaves over.
    lost_pixels_by_remainder: tuple[float, ...]
    macs_per_copied_byte: float  # to gather windows that overlap
    macs_per_call: int  # of a kernel that makes one row
    min_macs_per_row: int  # with fewer, beginning a row of a matrix product is felt
    min_row_bytes: int  # shorter rows are not worth their pointer, where no layer asks for them

    def lost_pixels(self, pixels: int) -> float:
        """The time that a row of so many pixels loses, in pixels."""
        return self.lost_pixels_by_remainder[pixels % len(self.lost_pixels_by_remainder)]
