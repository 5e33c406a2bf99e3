"""The register tile of a dot product. Its shape is the knob of the DSP strategies."""

from __future__ import annotations

from dataclasses import dataclass

from aot.ir.types import DType

LDRD_OFFSET_LIMIT = 1020  # bytes, the largest immediate
UNROLLS = (1, 2, 3, 4, 6, 8, 9, 12, 16, 18, 24, 32, 48)


def unroll_text(unroll: int, is_straight: bool) -> str:
    """Describes in a comment how often a group is unrolled."""
    often = {1: "once", 2: "twice"}.get(unroll, f"{unroll} times")
    return often if is_straight else f"{often} in a turn"


@dataclass(frozen=True, slots=True)
class SmladDotTile:
    """A register tile of dot products: `pixels` by `channels` sums over `steps` groups of four."""

    pixels: int
    channels: int
    steps: int
    pixel_step: int  # elements from one pixel of x to the next
    x_dtype: DType  # I16: widened activations; I8: widened in registers
    x_aligned: bool  # every x is at a multiple of four bytes, so LDRD may be used
    most_unrolled: int  # groups per iteration
    w_dtype: DType = DType.I8  # I16: stored widened, which needs twice the flash
    in_pairs: bool = False  # for cores that issue two instructions per cycle
    is_general: bool = False  # one function for any number of groups and any distance between pixels

    @property
    def name(self) -> str:
        step = f"_step{self.pixel_step}" if self.is_step_known else ""
        unroll = f"_{self.unroll}_once" if self.is_straight else f"_by_{self.unroll}"
        aligned = "" if self.x_aligned else "_unaligned"
        weights = "_w16" if self.w_dtype is DType.I16 else ""
        pairs = "_in_pairs" if self.in_pairs else ""
        return (
            f"dot_{self.pixels}x{self.channels}_{self.x_dtype.value}{weights}{step}{aligned}{unroll}{pairs}"
        )

    @property
    def pairs_cross(self) -> bool:
        """Returns True if one factor pairs neighbors in memory and the other every second element."""
        return self.x_dtype is not self.w_dtype

    @property
    def is_step_known(self) -> bool:
        """Returns True if the distance between pixels is in the code; otherwise each pixel has a pointer."""
        return self.pixels > 1 and not self.is_general

    @property
    def is_straight(self) -> bool:
        """Returns True if all groups are unrolled, without a loop."""
        return self.unroll == self.steps and not self.is_general

    @property
    def numbers(self) -> tuple[tuple[str, int], ...]:
        """Returns the numbers that a call passes to its function."""
        if self.is_straight:
            return ()
        step = (("pixel_step", self.pixel_step),) if self.pixels > 1 and self.is_general else ()
        return (("groups", self.steps), *step)

    @property
    def unroll(self) -> int:
        """Returns the groups per iteration: the largest allowed divisor of the steps."""
        if self.is_general:
            return 1
        return max(u for u in UNROLLS if u <= self.most_unrolled and self.steps % u == 0)
