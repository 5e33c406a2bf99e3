"""Helium: float depthwise windows of neighboring pixels, with a lane per channel.

Each load of four elements is followed by the products of the load before it, which another unit computes.
A tap's weights are loaded once for all pixels. Each sum grows tap by tap in the order of the loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from aot.ir.types import DType
from codegen.isa.helium.f32 import (
    FloatResults,
    WindowAsm,
    loop_of,
    rows_of_window,
    window_instruction,
)
from codegen.isa.names import mangle
from codegen.isa.plain.f32 import FUSED
from codegen.kernels.f32_tiles import WEIGHTS, window_x
from codegen.loops.affine import variable
from codegen.loops.ir import Instruction, load

MOST_PIXELS = 5  # one of the eight registers holds weights, two hold elements
_TAPS = 9  # unrolled, of a row
_ELEMENTS = 2  # registers
_REACH = 508  # bytes by which a load can move its pointer


@dataclass(frozen=True, slots=True)
class FloatDepthwise:
    """Results of up to four channels, each the sum over a window of its channel."""

    results: FloatResults
    rows: int
    columns: int
    tap_step: int  # elements from one tap of a row to the next
    x_step: int  # elements from one pixel's window to the next

    @property
    def name(self) -> str:
        results = self.results
        base = f"real_taps_{results.pixels}x{results.channels}_of_{self.rows}x{self.columns}"
        return mangle(base, self.tap_step, self.x_step, *results.numbers)

    def of(self, pixels: int, channels: int) -> FloatDepthwise:
        """Returns the tile of another size in the same layer."""
        return replace(self, results=replace(self.results, pixels=pixels, channels=channels))


def float_taps(tile: FloatDepthwise) -> Instruction:
    """y[i][j] = clamped(start[j] + sum over r, t of x[r][i * x_step + t * tap_step + j] * w[r][t][j])."""
    results, x = tile.results, window_x(tile.rows)
    i, j, r, t = (variable(v) for v in ("i", "j", "r", "t"))
    weight = load(WEIGHTS, (r * tile.columns + t) * results.channels + j)
    element = load(x, i * tile.x_step + t * tile.tap_step + j, r)
    nest = results.nest({"r": tile.rows, "t": tile.columns, "k": 1}, element, weight, FUSED)
    has_loop = tile.columns > _TAPS
    asm = WindowAsm(
        tuple(rows_of_window(tile.rows, lambda pointer: _row(tile, pointer), has_loop)),
        ("taps", *(f"x{n}" for n in range(_ELEMENTS))),
        ("count",) if has_loop and tile.rows > 1 else (),
        {name: step for name, step in _steps(tile).items() if not _is_near(step)},
    )
    return window_instruction(tile.name, f"windows of {tile.rows}x{tile.columns}", results, nest, x, asm)


def tap_cycles(pixels: int) -> int:
    """Returns the cycles of a tap: two for each load."""
    return 2 * (pixels + 1)


def _row(tile: FloatDepthwise, pointer: str) -> list[str]:
    if tile.columns > _TAPS:
        return [*loop_of(tile.columns), "1:", *_tap(tile, pointer, is_last=False), "le lr, 1b"]
    return [line for t in range(tile.columns) for line in _tap(tile, pointer, t == tile.columns - 1)]


def _tap(tile: FloatDepthwise, pointer: str, is_last: bool) -> Iterator[str]:
    """Yields the loads and products of a tap. Each load moves the pointer to the next element."""
    last = tile.results.pixels - 1
    yield f"vldrw.u32 %q[taps], [%[w]], #{tile.results.channels * DType.F32.bytes}"
    yield from _loaded(tile, pointer, 0, moves=not (is_last and last == 0))
    for i in range(last + 1):
        if i < last:
            yield from _loaded(tile, pointer, i + 1, moves=not (is_last and i + 1 == last))
        yield f"vfma.f32 %q[a{i}_0], %q[taps], %q[x{i % _ELEMENTS}]"


def _loaded(tile: FloatDepthwise, pointer: str, i: int, moves: bool) -> Iterator[str]:
    name = "next_tap" if i == tile.results.pixels - 1 else "next_pixel"
    step = _steps(tile)[name] if moves else 0
    if step and _is_near(step):
        yield f"vldrw.u32 %q[x{i % _ELEMENTS}], [%[{pointer}]], #{step}"
    else:
        yield f"vldrw.u32 %q[x{i % _ELEMENTS}], [%[{pointer}]]"
        yield from [f"add %[{pointer}], %[{pointer}], %[{name}]"] if step else []


def _steps(tile: FloatDepthwise) -> Mapping[str, int]:
    """Returns bytes from a pixel's element to the next pixel's, and from the last one's to the next tap."""
    pixels, size = tile.results.pixels, DType.F32.bytes
    to_tap = (tile.tap_step - (pixels - 1) * tile.x_step) * size
    return {"next_tap": to_tap, **({"next_pixel": tile.x_step * size} if pixels > 1 else {})}


def _is_near(step: int) -> bool:
    return abs(step) <= _REACH
