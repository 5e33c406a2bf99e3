"""Helium: sums of products of floats of neighboring pixels: dot products, and depthwise windows.

In dot products, a lane is an output channel. VFMA multiplies a vector of weights by a pixel's element, which
is in a core register, and adds the products to the pixel's sums. Each sum grows term by term in the order of
the loops, as a scalar sum does. A vector instruction occupies its unit for two cycles, so the next element or
vector of weights is loaded in between.

In depthwise windows, a lane is a channel. Each load of four elements is followed by the products of the load
before it, which another unit computes. A tap's weights are loaded once for all pixels. Each sum grows tap by
tap in the order of the loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

from aot.ir.types import DType
from codegen.isa.helium.f32 import (
    FOURS,
    FloatResults,
    WindowAsm,
    loop_of,
    rows_of_window,
    window_instruction,
)
from codegen.isa.names import mangle
from codegen.isa.plain.f32 import FUSED
from codegen.kernels.f32_tiles import WEIGHTS, DotTile, window_x
from codegen.loops.affine import variable
from codegen.loops.ir import Instruction, load

MOST_SUMS = 6  # vectors; two of the eight registers hold weights
_WEIGHTS = 2  # registers
_STRAIGHT = 8  # steps of a row without a loop
_REACH = 4095  # bytes from a pointer to a loaded element
_SHORT = 2  # pixels: the registers of a step's elements become free too late for the next step


@dataclass(frozen=True, slots=True)
class FloatTile(DotTile):
    """Sums with a lane per channel."""

    results: FloatResults

    @property
    def vectors(self) -> int:
        """Returns the vectors of a pixel's sums."""
        return len(self.results.lanes)

    @property
    def alternates(self) -> bool:
        """Returns True if steps use two sets of registers for elements, since they are short."""
        return self.pixels <= _SHORT

    @property
    def name(self) -> str:
        base = f"real_dots_{self.pixels}x{self.results.channels}_of_{self.rows}x{self.length}"
        return mangle(base, self.x_step, *self.results.numbers)


def within_reach(pixels: int, x_step: int) -> bool:
    """Returns True if one pointer reaches the elements of all pixels."""
    return (pixels - 1) * x_step * DType.F32.bytes <= _REACH


def step_cycles(pixels: int, vectors: int) -> int:
    """Returns the cycles of a step: two for each product, or one for each instruction."""
    products = pixels * vectors
    return max(2 * products, products + pixels + vectors)


def float_dots(tile: FloatTile) -> Instruction:
    nest = tile.nest(FUSED)
    has_loop = tile.length > _STRAIGHT
    elements = tuple(f"x{n}" for n in range(tile.pixels * (2 if tile.alternates else 1)))
    asm = WindowAsm(
        tuple(rows_of_window(tile.rows, lambda pointer: _row(tile, pointer), has_loop)),
        tuple(f"w{n}" for n in range(_WEIGHTS)),
        (*elements, *(("count",) if has_loop and tile.rows > 1 else ())),
        {},
    )
    return window_instruction(
        tile.name, f"windows of {tile.rows}x{tile.length}", tile.results, nest, tile.x, asm
    )


def _row(tile: FloatTile, pointer: str) -> list[str]:
    """Returns the steps of a row, most of them in a loop. Each step loads operands of the next ones."""
    steps = _Steps(tile, pointer)
    if tile.length <= _STRAIGHT:
        return [*steps.begun(), *(line for s in range(tile.length) for line in steps.step(s))]
    together = 1 if tile.vectors % _WEIGHTS == 0 and not tile.alternates else 2
    turns = (tile.length - (1 if tile.vectors > 1 else 2)) // together
    return [
        *steps.begun(),
        *loop_of(turns),
        "1:",
        *(line for s in range(together) for line in steps.step(s)),
        "le lr, 1b",
        *(line for s in range(turns * together, tile.length) for line in steps.step(s)),
    ]


@dataclass(frozen=True, slots=True)
class _Steps:
    """The steps of a row: an element of each pixel, and its weights for each channel."""

    tile: FloatTile
    pointer: str

    def begun(self) -> list[str]:
        """Returns the loads that precede the first step."""
        pixels = self.tile.pixels
        elements = [self._element(0, i, "") for i in range(pixels if self.tile.alternates else pixels - 1)]
        weights = min(_WEIGHTS, self.tile.vectors * self.tile.length)
        return [*elements, *(self._weights(n) for n in range(weights))]

    def step(self, s: int) -> Iterator[str]:
        """Yields the products of a step, each with the loads after it."""
        pixels, vectors = self.tile.pixels, self.tile.vectors
        for v, i in product(range(vectors), range(pixels)):
            n = s * vectors + v
            yield f"vfma.f32 %q[a{i}_{v}], %q[w{n % _WEIGHTS}], %[{self._register(s, i)}]"
            yield from self._elements_after(s, v, i)
            if i == pixels - 1 and n + _WEIGHTS < vectors * self.tile.length:
                yield self._weights(n + _WEIGHTS)

    def _elements_after(self, s: int, v: int, i: int) -> Iterator[str]:
        """Yields loads of elements: of the next step if a register is free, and of this step's last pixel."""
        pixels, last = self.tile.pixels, self.tile.vectors - 1
        if self.tile.alternates:
            due = [each for each in range(pixels) if i == 0 and v == min(each, last)]
        else:
            due = [i] if v == last and i < pixels - 1 else []
            if (v, i) == (0, 0):
                yield self._element(s, pixels - 1, "")
        if s + 1 < self.tile.length:
            yield from (self._element(s + 1, each, "" if each else "!") for each in due)

    def _register(self, s: int, i: int) -> str:
        """Returns the register of a pixel's element."""
        return f"x{s % 2 * self.tile.pixels + i}" if self.tile.alternates else f"x{i}"

    def _element(self, s: int, i: int, moves: str) -> str:
        """Returns the load of a pixel's element. That of the first pixel moves the pointer to its step."""
        offset = i * self.tile.x_step * DType.F32.bytes + (DType.F32.bytes if moves else 0)
        where = f", #{offset}" if offset else ""
        return f"ldr %[{self._register(s, i)}], [%[{self.pointer}]{where}]{moves}"

    def _weights(self, n: int) -> str:
        """Returns the load of a vector of weights, which moves the pointer to the next one."""
        tile, size = self.tile, DType.F32.bytes
        is_last = n % tile.vectors == tile.vectors - 1
        step = (tile.results.channels - FOURS * (tile.vectors - 1)) * size if is_last else FOURS * size
        return f"vldrw.u32 %q[w{n % _WEIGHTS}], [%[w]], #{step}"


MOST_PIXELS = 5  # one of the eight registers holds weights, two hold elements
_TAPS = 9  # unrolled, of a row
_ELEMENTS = 2  # registers
_REACH_OF_CHANNELS = 508  # bytes by which a load can move its pointer


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
        tuple(rows_of_window(tile.rows, lambda pointer: _depthwise_row(tile, pointer), has_loop)),
        ("taps", *(f"x{n}" for n in range(_ELEMENTS))),
        ("count",) if has_loop and tile.rows > 1 else (),
        {name: step for name, step in _steps(tile).items() if not _is_near(step)},
    )
    return window_instruction(tile.name, f"windows of {tile.rows}x{tile.columns}", results, nest, x, asm)


def tap_cycles(pixels: int) -> int:
    """Returns the cycles of a tap: two for each load."""
    return 2 * (pixels + 1)


def _depthwise_row(tile: FloatDepthwise, pointer: str) -> list[str]:
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
    return abs(step) <= _REACH_OF_CHANNELS
