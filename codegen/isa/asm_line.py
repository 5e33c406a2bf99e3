"""A line of inline assembly as data: an instruction, the registers that it writes and reads, and its text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AsmLine:
    """One instruction, or what stands between instructions: a label, a predicate."""

    name: str
    text: str
    writes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    stays: bool = False  # nothing is moved over it
    predicates: int = 0  # lines behind it that are under it


@dataclass(frozen=True, slots=True)
class Address:
    """A pointer's register and an offset, by which the pointer `moves` on after the access or does not."""

    pointer: str
    offset: int | None = None
    moves: bool = False

    @property
    def text(self) -> str:
        if self.moves:
            return f"[{self.pointer}], #{self.offset}"
        return f"[{self.pointer}]" if self.offset is None else f"[{self.pointer}, #{self.offset}]"


def operand(name: str) -> str:
    """The register that a C operand of the asm statement has."""
    return f"%[{name}]"


def loads(name: str, results: tuple[str, ...], address: Address) -> AsmLine:
    moved = (address.pointer,) if address.moves else ()
    text = f"{name} {', '.join(results)}, {address.text}"
    return AsmLine(name, text, (*results, *moved), (address.pointer,))


def computes(name: str, result: str, *operands: str, end: str = "") -> AsmLine:
    """An instruction that writes its first register; `end` is a shift or a number behind the others."""
    written = [result, *operands, *([end] if end else [])]
    return AsmLine(name, f"{name} {', '.join(written)}", (result,), operands)


def adds_to(name: str, total: str, *operands: str) -> AsmLine:
    """An instruction whose first register is read as well: a sum that it adds to."""
    return AsmLine(name, f"{name} {', '.join((total, *operands))}", (total,), (total, *operands))


def stays(text: str) -> AsmLine:
    """A label, a jump, a count: no line is moved over it."""
    return AsmLine(text.partition(" ")[0], text, stays=True)


def predicate(text: str, lines: int) -> AsmLine:
    """VPST and its like, with the number of lines under it."""
    return AsmLine(text, text, predicates=lines)
