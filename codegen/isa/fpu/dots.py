"""FPU: float dot products of neighboring pixels and channels, with weights in the order of their loads.

A step loads an element of each pixel and, by one VLDM, the weights of all channels; then it multiplies and
adds. Each sum grows term by term in the order of the loops, as a scalar sum does.

Where VMUL and VADD together take less time than VFMA, they are apart. Else products are fused, and steps load
together: a core that begins two instructions at a time has to wait for its VFMAs before it can load again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import ClassVar

from aot.ir.types import DType
from aot.ops.activation import Activation
from codegen.isa.fpu.needs import NEEDS
from codegen.isa.names import mangle
from codegen.isa.plain.f32 import APART, FUSED, clamp_f32
from codegen.kernels.f32_tiles import WEIGHTS, DotTile
from codegen.loops.ir import Instruction, ScalarFunction

REGISTERS = 32
_PRODUCTS = 2  # registers: a sum cannot follow its product at once
_INSTRUCTIONS = 100  # of a loop, at most, unless it is a single step
_MOST_STEPS = 4  # of a loop
_REACH = 1020  # bytes from a pointer to a loaded element
_POINTERS = 4
_FUSED_POINTERS = 5
_UNTIL_LOAD = 4  # cycles from the last VFMA to a load
_UNTIL_SUM = 3  # cycles from a VFMA to the next one of the same sum
_OPERANDS = 30  # of an assembly statement, at most
_OTHER_OPERANDS = 6  # turns, first values, and both parameters that move, which count twice
_FREE = 16  # registers that a function need not save
_SAVED_BYTES = 64  # of stack, for the others
_KEPT_BYTES = 48  # of stack, for values that the pointers of a short tile displace
_FLOAT = DType.F32.bytes


@dataclass(frozen=True, slots=True)
class FloatDots:
    """The assembly of a tile. The registers have its sums, the weights, two products, and the elements."""

    tile: DotTile
    added: ClassVar[ScalarFunction] = APART
    most_pointers: ClassVar[int] = _POINTERS

    @property
    def pixels(self) -> int:
        return self.tile.pixels

    @property
    def channels(self) -> int:
        return self.tile.results.channels

    @property
    def sums(self) -> int:
        return self.pixels * self.channels

    @property
    def registers(self) -> int:
        return self.sums + self.channels + _PRODUCTS + self.pixels

    @property
    def fits(self) -> bool:
        of_rows = 3 if self.tile.rows > 1 else 0  # their number, the first pointer, and the offset
        of_pointers = len(self.pointers) if len(self.pointers) > 1 else 0  # with their distance
        operands = self.sums + _OTHER_OPERANDS + of_rows + of_pointers
        has_registers = self.registers <= REGISTERS and operands <= _OPERANDS
        return has_registers and len(self.pointers) <= self.most_pointers

    @property
    def steps(self) -> int:
        """Returns the steps in a turn of the loop."""
        return max(1, min(_MOST_STEPS, self.tile.length, _INSTRUCTIONS // self.step_cycles))

    @property
    def turns(self) -> int:
        return self.tile.length // self.steps

    @property
    def loads_move(self) -> bool:
        """Returns whether the loads of elements move their pointers."""
        return False

    @property
    def pixels_of_pointer(self) -> int:
        """Returns how many neighboring pixels one pointer reaches, in every step of a turn."""
        return 1 + (_REACH - _FLOAT * (_MOST_STEPS - 1)) // (_FLOAT * self.tile.x_step)

    @property
    def pointers(self) -> list[str]:
        """Returns the operands that point to pixels. The first one of a single row is its parameter."""
        more = range(1, -(-self.pixels // self.pixels_of_pointer))
        return ["x" if self.tile.rows == 1 else "p0", *(f"p{n}" for n in more)]

    @property
    def step_cycles(self) -> int:
        return 1 + self.channels + self.pixels + 2 * self.sums

    @property
    def cycles(self) -> int:
        """Returns the cycles of the tile, about."""
        pointers, turns = len(self.pointers), -(-self.tile.length // self.steps)
        row = self.tile.length * self.step_cycles + turns * (3 + pointers) + 4 + 2 * pointers
        return self.tile.rows * row + 5 * self.sums + 10

    def lines(self) -> list[str]:
        """Returns the first values of the sums, and all rows of the window."""
        rows, pointers = self.tile.rows, self.pointers
        row = [*(f"add %[{p}], %[{before}], %[x_step]" for before, p in pairwise(pointers)), *self._row()]
        if rows == 1:
            return [*self._begun(), *row]
        begin = ["ldr %[p0], [%[x]], #4", "add %[p0], %[p0], %[offset], lsl #2"]
        return [*self._begun(), f"mov %[rows], #{rows}", "2:", *begin, *row, "subs %[rows], #1", "bne 2b"]

    def _begun(self) -> Iterator[str]:
        has_start = self.tile.results.has_start
        copied = self.channels if has_start else 1
        yield f"vldmia %[start], {{{_several(0, copied)}}}" if has_start else "vmov s0, %[zero]"
        yield from (f"vmov.f32 s{n}, s{n % copied}" for n in range(copied, self.sums))

    def _row(self) -> Iterator[str]:
        rest = self.tile.length % self.steps
        if self.turns > 1:
            low, high = self.turns % (1 << 16), self.turns >> 16
            yield f"movw %[turns], #{low}"
            yield from ([f"movt %[turns], #{high}"] if high else [])
            yield "1:"
        yield from self._terms(self.steps)
        if (self.turns > 1 or rest) and not self.loads_move:
            yield from (f"add %[{p}], #{self.steps * _FLOAT}" for p in self.pointers)
        if self.turns > 1:
            yield from ("subs %[turns], #1", "bne 1b")
        yield from self._terms(rest)

    def _terms(self, steps: int) -> Iterator[str]:
        for step in range(steps):
            yield from self._elements(step)
            yield self.products(1)

    def _elements(self, step: int) -> Iterator[str]:
        first = self.registers - self.pixels
        for i in range(self.pixels):
            number, place = divmod(i, self.pixels_of_pointer)
            offset = (place * self.tile.x_step + step) * _FLOAT
            yield f"vldr s{first + i}, [%[{self.pointers[number]}]{f', #{offset}' if offset else ''}]"

    def products(self, steps: int) -> str:
        """Returns the name of the macro of some steps' products."""
        return f"PRODUCTS_{self.pixels}X{self.channels}"

    def macros(self) -> dict[Instruction, int]:
        """Returns the macros, each with the number of its instructions."""
        return {self._macro(self.products(1), self._apart()): 1 + 2 * self.sums}

    def _macro(self, name: str, lines: Iterator[str]) -> Instruction:
        text = " \\\n    ".join((f"#define {name}", *lines))
        return Instruction(name, (), (), "", f"{text}\n", needs=NEEDS)

    def _apart(self) -> Iterator[str]:
        """Yields the weights' load, and the products of a step with their sums, two at a time."""
        weights, product_of = self.sums, self.sums + self.channels
        terms = list(product(range(self.pixels), range(self.channels)))
        yield f'"vldmia %[w]!, {{{_several(weights, self.channels)}}}\\n\\t"'
        for n in range(0, len(terms), _PRODUCTS):
            pair, x = list(enumerate(terms[n : n + _PRODUCTS], product_of)), product_of + _PRODUCTS
            yield _joined(f"vmul.f32 s{t}, s{weights + j}, s{x + i}" for t, (i, j) in pair)
            totals = [(i * self.channels + j, t) for t, (i, j) in pair]
            yield _joined(f"vadd.f32 s{total}, s{total}, s{t}" for total, t in totals)


@dataclass(frozen=True, slots=True)
class FusedDots(FloatDots):
    """The assembly of a tile with fused sums. The registers have its sums, the weights, and the elements."""

    added: ClassVar[ScalarFunction] = FUSED
    most_pointers: ClassVar[int] = _FUSED_POINTERS

    @property
    def steps(self) -> int:
        """Returns the steps that load together, which are a turn: those with the fewest cycles for a term."""
        most = min(_MOST_STEPS, self.tile.length) if self.pixels <= self.most_pointers else 1
        tries = [n for n in range(1, most + 1) if self._registers(n) <= REGISTERS] or [1]
        return min(tries, key=lambda n: (self._turn_cycles(n) / n, n))

    @property
    def registers(self) -> int:
        return self._registers(self.steps)

    def _registers(self, steps: int) -> int:
        return self.sums + steps * (self.channels + self.pixels)

    @property
    def loads_move(self) -> bool:
        return self.steps > 1

    @property
    def pixels_of_pointer(self) -> int:
        return 1 if self.loads_move else 1 + _REACH // (_FLOAT * self.tile.x_step)

    @property
    def cycles(self) -> int:
        rest = self.tile.length % self.steps
        of_rest = self._turn_cycles(rest) if rest else 0
        row = self.turns * self._turn_cycles(self.steps) + of_rest + 4 + 2 * len(self.pointers)
        return self.tile.rows * row + 5 * self.sums + 10

    def _turn_cycles(self, steps: int) -> int:
        """Returns the cycles of a turn: two words are loaded at a time, except by VLDR."""
        elements = self.pixels * (-(-steps // 2))
        loads = -(-steps * self.channels // 2) + elements
        return loads + steps * max(self.sums, _UNTIL_SUM) + _UNTIL_LOAD

    def _terms(self, steps: int) -> Iterator[str]:
        if not steps:
            return
        if self.loads_move:
            first = self.sums + steps * self.channels
            several = (_several(first + i * steps, steps) for i in range(self.pixels))
            yield from (f"vldmia %[{p}]!, {{{each}}}" for p, each in zip(self.pointers, several, strict=True))
        else:
            yield from self._elements(0)
        yield self.products(steps)

    def products(self, steps: int) -> str:
        return f"FUSED_{self.pixels}X{self.channels}{f'_OF_{steps}' if steps > 1 else ''}"

    def macros(self) -> dict[Instruction, int]:
        lengths = sorted({self.steps, self.tile.length % self.steps} - {0})
        return {self._macro(self.products(n), self._fused(n)): 1 + n * self.sums for n in lengths}

    def _fused(self, steps: int) -> Iterator[str]:
        """Yields the load of the steps' weights, and their products added to the sums."""
        weights, elements = self.sums, self.sums + steps * self.channels
        yield f'"vldmia %[w]!, {{{_several(weights, steps * self.channels)}}}\\n\\t"'
        for step, i in product(range(steps), range(self.pixels)):
            x, first = elements + i * steps + step, weights + step * self.channels
            yield _joined(
                f"vfma.f32 s{i * self.channels + j}, s{first + j}, s{x}" for j in range(self.channels)
            )


def _joined(lines: Iterator[str]) -> str:
    return " ".join(f'"{line}\\n\\t"' for line in lines)


def _several(first: int, count: int) -> str:
    """Returns neighboring registers."""
    return f"s{first}-s{first + count - 1}" if count > 1 else f"s{first}"


def float_dots(dots: FloatDots) -> Instruction:
    """y[i][j] = clamped(start[j] + sum over r, k of x[r][i * x_step + k] * w[r][k][j])."""
    tile = dots.tile
    results = tile.results
    start, y = results.buffers
    base = f"real_dots_{dots.pixels}x{dots.channels}_of_{tile.rows}x{tile.length}"
    name = mangle(base, tile.x_step, *results.numbers)
    lines, macros = dots.lines(), dots.macros()
    clamp = () if results.activation is Activation.NONE else (clamp_f32(results.activation),)
    row = "const float *const *x, int32_t offset" if tile.rows > 1 else "const float *x"
    begin = ", const float *start" if results.has_start else ""
    called = clamp[0].name if clamp else ""
    stored = [
        f"y[{i * results.y_step + j * results.y_channel_step}] = {called}{f'(s{n})' if called else f's{n}'};"
        for n, (i, j) in enumerate(product(range(dots.pixels), range(dots.channels)))
    ]
    definition = [
        f"/* {dots.pixels} x {dots.channels} sums over windows of {tile.rows} x {tile.length}. */",
        f"static inline __attribute__((always_inline)) void {name}(",
        f"    float *y, {row}, const float *w{begin})",
        "{",
        *(f"    {line}" for line in (*_statement(dots, lines, {each.name for each in macros}), *stored)),
        "}",
    ]
    x = "{x_array}, {x_offset}" if tile.rows > 1 else "{x}"
    return Instruction(
        name=name,
        params=(y, tile.x, WEIGHTS, *((start,) if results.has_start else ())),
        body=(tile.nest(dots.added),),
        call=f"{name}(\n    {{y}}, {x}, {{w}}{', {start}' if results.has_start else ''});",
        definition="\n".join(definition) + "\n",
        calls=(*macros, *clamp),
        needs=NEEDS,
        machine_instructions=_instructions(macros, lines) + 3 * dots.sums,
        stack_bytes=_SAVED_BYTES if dots.registers > _FREE else _KEPT_BYTES,
        is_asm=True,
        own_registers=len(dots.pointers) + 2 * (tile.rows > 1) + 2,
    )


def _statement(dots: FloatDots, lines: Sequence[str], macros: Collection[str]) -> list[str]:
    """Returns the declarations of the sums and the other operands, and the statement."""
    tile, text = dots.tile, "\n".join(lines)
    sums = [f"s{n}" for n in range(dots.sums)]
    pointers = [p for p in dots.pointers if p != "x"]
    counts = [n for n in ("rows", "turns") if f"%[{n}]" in text]
    given = {
        **({"start": "start"} if tile.results.has_start else {"zero": "0"}),
        **({"offset": "offset"} if tile.rows > 1 else {}),
        **({"x_step": str(dots.pixels_of_pointer * tile.x_step * _FLOAT)} if len(dots.pointers) > 1 else {}),
    }
    made = [f'"=t"({n})' for n in sums]
    moved = [*(f'[{n}] "=&r"({n})' for n in (*pointers, *counts)), '[w] "+r"(w)', '[x] "+r"(x)']
    clobbered = ["cc", "memory", *(f"s{n}" for n in range(dots.sums, dots.registers))]
    declared = [f'{n} __asm__("{n}")' for n in sums]
    return [
        *(f"register float {', '.join(part)};" for part in _fours(declared)),
        *([f"const float {', '.join(f'*{p}' for p in pointers)};"] if pointers else []),
        *([f"int32_t {', '.join(counts)};"] if counts else []),
        "__asm__ volatile(",
        *(f"    {line}" if line in macros else f'    "{line}\\n\\t"' for line in lines),
        "    : " + ",\n          ".join(", ".join(part) for part in (*_fours(made), moved)),
        "    : " + ", ".join(f'[{n}] "r"({value})' for n, value in given.items()),
        "    : " + ", ".join(f'"{n}"' for n in clobbered) + ");",
    ]


def _fours(parts: Sequence[str]) -> list[Sequence[str]]:
    return [parts[n : n + 4] for n in range(0, len(parts), 4)]


def _instructions(macros: Mapping[Instruction, int], lines: Sequence[str]) -> int:
    of_macros = {macro.name: count for macro, count in macros.items()}
    return sum(of_macros.get(line, 1) for line in lines)
