"""Helium, a row of depthwise outputs of four channels: computes sums while it requantizes the previous ones.

Four vectors hold the channels' weights along the row. One more is for pixels and, between sums, for values
without a register: shifts, signs, bounds, and offsets of stored bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from codegen.isa.asm import Address, AsmLine, computes, in_order, loads, operand, stays
from codegen.isa.helium.pipeline import WITH_ENDS
from codegen.isa.helium.requantise import WORDS, halves_moved, scaled
from codegen.isa.helium.row_lines import stored_channels, to_bytes, to_halves
from codegen.isa.plain.requantise import Requant

SHIFT, PLACES = 0, 16  # bytes from `ends`: vectors on the stack
_PIXELS = "%q[x]"
_V = "%q[v]"
_WRITTEN_OUT = 6  # outputs
_SUMS = tuple(operand(f"s{j}") for j in range(WORDS))


@dataclass(frozen=True, slots=True)
class DepthwiseLines:
    """The statement of a row of `outputs`."""

    outputs: int
    x_step: int  # bytes from one output's pixels to the next
    y_step: int
    y_channel_step: int
    requant: Requant

    def statement(self) -> list[str]:
        """Returns C code for a function with pointers to pixels and results, and vectors of constants."""
        every = range(WORDS)
        outputs = [
            ", ".join(f'[s{j}] "=&Te"(s{j})' for j in every),
            ", ".join(['[y] "+l"(y)', *(f'[x{j}] "+r"(x{j})' for j in every)]),
            '[x] "=&w"(x), [v] "=&w"(v)',
        ]
        inputs = [
            ", ".join(f'[taps{j}] "w"(taps{j})' for j in every),
            '[start] "w"(start), [scale] "w"(scale)',
            f'[ends] "r"(ends), [zero] "r"({self.requant.zero_point})',
        ]
        return [
            f"    int32_t {', '.join(f's{j}' for j in every)};",
            "    int8x16_t x, v;",
            *self._words(),
            "    __asm__ volatile(",
            *(f'        "{line.text}\\n\\t"' for line in self.lines()),
            *(f"        {':' if n == 0 else ' '} {text}{',' * (n < 2)}" for n, text in enumerate(outputs)),
            *(f"        {':' if n == 0 else ' '} {text}{',' * (n < 2)}" for n, text in enumerate(inputs)),
            '        : "lr", "memory", "cc");',
        ]

    def _words(self) -> list[str]:
        lines = [f"    int32_t ends[{2 * WORDS}];", "    vstrwq_s32(ends, shift);"]
        if self.y_channel_step == 1:
            return lines
        places = ", ".join(str(j * self.y_channel_step) for j in range(WORDS))
        return [
            *lines,
            f"    const int32x4_t places = {{{places}}};",
            f"    vstrwq_s32(ends + {WORDS}, places);",
        ]

    def lines(self) -> Iterator[AsmLine]:
        """Yields the instructions of the statement."""
        first, moved = list(self._sums(())), list(_into_vector())
        body = [*self._sums(list(self._rounded())), *self._stored(), *moved]
        if self.outputs <= _WRITTEN_OUT:
            last = [*self._rounded(), *self._stored()]
            yield from in_order([*first, *moved, *body * (self.outputs - 1), *last], *WITH_ENDS)
            return
        yield from in_order([*first, *moved], *WITH_ENDS)
        yield from (stays(f"mov lr, #{self.outputs - 1}"), stays("dls lr, lr"), stays("1:"))
        yield from in_order(body, *WITH_ENDS)
        yield stays("le lr, 1b")
        yield from in_order([*self._rounded(), *self._stored()], *WITH_ENDS)

    def _sums(self, between: list[AsmLine] | tuple[()]) -> Iterator[AsmLine]:
        """Yields a sum per channel, with the lines `between` inserted, which may use the pixels' vector."""
        for j, total in enumerate(_SUMS):
            if j == WORDS // 2:
                yield from between
            yield loads("vldrb.8", (_PIXELS,), Address(operand(f"x{j}"), self.x_step, moves=True))
            yield computes("vmladav.s8", total, _PIXELS, f"%q[taps{j}]")

    def _rounded(self) -> Iterator[AsmLine]:
        yield computes("vadd.i32", _V, _V, "%q[start]")
        yield from scaled(self.requant, _V, "%q[scale]")
        shift = loads("vldrw.32", (_PIXELS,), Address(operand("ends"), SHIFT))
        if self.requant.parity is not None:
            yield shift
        yield from halves_moved(self.requant, _V, "%q[scale]", _PIXELS, _PIXELS)
        yield shift
        yield computes("vrshl.s32", _V, _V, _PIXELS)

    def _stored(self) -> Iterator[AsmLine]:
        y = operand("y")
        yield from to_halves(_V, self.requant)
        yield from to_bytes(_V, self.requant, _PIXELS, operand("zero"))
        if self.y_channel_step != 1:
            yield loads("vldrw.32", (_PIXELS,), Address(operand("ends"), PLACES))
            yield AsmLine("vstrb.32", f"vstrb.32 {_V}, [{y}, {_PIXELS}]", (), (y, _V, _PIXELS))
            yield computes("add", y, y, end=f"#{self.y_step}")
        else:
            yield from stored_channels(_V, y, self.y_step)


def _into_vector() -> Iterator[AsmLine]:
    a, b, c, d = _SUMS
    yield AsmLine("vmov", f"vmov {_V}[2], {_V}[0], {a}, {c}", (_V,), (a, c))
    yield AsmLine("vmov", f"vmov {_V}[3], {_V}[1], {b}, {d}", (_V,), (_V, b, d))
