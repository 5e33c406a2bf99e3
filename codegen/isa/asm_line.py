"""A line of inline assembly as data: an instruction, the registers that it writes and reads, and its text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AsmLine:
    """One instruction, or a label or predicate between instructions."""

    name: str
    text: str
    writes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    stays: bool = False  # no line is moved across it
    predicates: int = 0  # number of following lines that it predicates


@dataclass(frozen=True, slots=True)
class Address:
    """A pointer register and an offset. If it `moves`, the access advances the pointer."""

    pointer: str
    offset: int | None = None
    moves: bool = False

    @property
    def text(self) -> str:
        if self.moves:
            return f"[{self.pointer}], #{self.offset}"
        return f"[{self.pointer}]" if self.offset is None else f"[{self.pointer}, #{self.offset}]"


def operand(name: str) -> str:
    """Returns the register of a C operand of the asm statement."""
    return f"%[{name}]"


def loads(name: str, results: tuple[str, ...], address: Address) -> AsmLine:
    moved = (address.pointer,) if address.moves else ()
    text = f"{name} {', '.join(results)}, {address.text}"
    return AsmLine(name, text, (*results, *moved), (address.pointer,))


def computes(name: str, result: str, *operands: str, end: str = "") -> AsmLine:
    """Returns an instruction that writes its first register; `end` is a trailing shift or number."""
    written = [result, *operands, *([end] if end else [])]
    return AsmLine(name, f"{name} {', '.join(written)}", (result,), operands)


def adds_to(name: str, total: str, *operands: str) -> AsmLine:
    """Returns an instruction that also reads its first register, such as an accumulation."""
    return AsmLine(name, f"{name} {', '.join((total, *operands))}", (total,), (total, *operands))


def stays(text: str) -> AsmLine:
    """Returns a label, jump or count, across which no line is moved."""
    return AsmLine(text.partition(" ")[0], text, stays=True)


def predicate(text: str, lines: int) -> AsmLine:
    """Returns VPST or a similar predicate, with the number of lines that it covers."""
    return AsmLine(text, text, predicates=lines)
