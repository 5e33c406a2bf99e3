"""Computes a function's stack usage by following its instructions, and the calls it makes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from aot.errors import ToolError
from platforms.cycles.thumb import LOOP_ENDS, USUAL_NAME, disassembler

# A machine instruction with its effects on the stack and on control flow, decoded by capstone.


class Continuation(Enum):
    """How execution continues after an instruction."""

    NEXT = "the next instruction"
    JUMP = "a jump to an address in the code"
    CALL = "a call of an address in the code"
    RETURN = "to the caller"
    TABLE = "a jump to one of the places that a table lists, as a switch has it"
    REGISTER = "an address that a register or memory holds"


@dataclass(frozen=True, slots=True)
class MachineStep:
    """An instruction of a function."""

    address: int
    end: int
    text: str
    continuation: Continuation
    target: int | None  # of a jump or call
    is_conditional: bool  # may have no effect
    taken: int  # stack bytes allocated; negative if released
    loses_stack: bool  # the stack pointer changes by a register's value


_PUSH, _POP = ("push", "vpush", "stmdb", "vstmdb"), ("pop", "vpop", "ldm", "vldmia")
_FRAME_POINTERS = ("r7", "r11", "fp")
_SUMS = ("add", "sub", "addw", "subw")
_WORD_BYTES = 4  # the stack pointer is always aligned to it
_ALWAYS = 14  # number of the condition
_LIST = re.compile(r"\{(.*)\}")


def decode(code: bytes, address: int, word: Callable[[int], int]) -> Iterator[MachineStep]:
    """Yields instructions; `word` reads a constant in the code. Raises ToolError for invalid code."""
    end, before = address, None
    for found in disassembler().disasm(code, address):
        end = found.address + found.size
        yield _step(found, before, word)
        before = found
    if end != address + len(code):
        raise ToolError(f"capstone knows no instruction {code[end - address :][:4].hex()}", f"at {end:#x}")


def _step(found: Any, before: Any | None, word: Callable[[int], int]) -> MachineStep:
    continuation, target = _way(found, word)
    taken = _taken(found, before)
    return MachineStep(
        address=found.address,
        end=found.address + found.size,
        text=f"{found.mnemonic} {found.op_str}".strip(),
        continuation=continuation,
        target=target,
        is_conditional=found.cc != _ALWAYS or _short(found) in ("cbz", "cbnz", *LOOP_ENDS),
        taken=taken or 0,
        loses_stack=taken is None,
    )


def _way(found: Any, word: Callable[[int], int]) -> tuple[Continuation, int | None]:
    name = found.insn_name()
    if name in ("tbb", "tbh"):
        return Continuation.TABLE, None
    if name in ("bx", "bxns", "blx", "blxns"):
        is_return = name.startswith("bx") and _register(found, 0) == "lr"
        return (Continuation.RETURN if is_return else Continuation.REGISTER), None
    if name in ("b", "bl", "cbz", "cbnz", *LOOP_ENDS):
        (target,) = (each.imm for each in found.operands if each.type == _types().ARM_OP_IMM)
        return (Continuation.CALL if name == "bl" else Continuation.JUMP), target
    if "pc" not in _written(found):
        return Continuation.NEXT, None
    if name in ("pop", "ldm") or _short(found) == "pop" or (name == "ldr" and _memory_base(found) == "sp"):
        return Continuation.RETURN, None
    if name == "ldr" and _memory_base(found) == "pc" and not found.operands[1].mem.index:
        literal = (found.address + 4 & ~3) + found.operands[1].mem.disp
        return Continuation.JUMP, word(literal) & ~1
    return Continuation.TABLE, None  # calls by pointer are always blx or bx


def _taken(found: Any, before: Any | None) -> int | None:
    """Returns the stack bytes that it allocates, or None if a register determines them."""
    if "sp" not in _written(found):
        return 0
    short, name = _short(found), str(found.insn_name())
    if short.startswith(_PUSH):
        return _listed_bytes(found)
    if short.startswith(_POP):
        return -_listed_bytes(found)
    if name in ("str", "strd", "ldr", "ldrd") and _memory_base(found) == "sp":
        moved = found.operands[-1]
        return int(moved.mem.disp) if moved.subtracted else -int(moved.mem.disp)
    if name in _SUMS:
        return _added(found, 1 if name.startswith("sub") else -1)
    return _moved(_register(found, 1), before) if name == "mov" else None


def _moved(register: str, before: Any | None) -> int | None:
    """Returns the stack bytes of a move to the stack pointer, from a frame pointer or a computed register.

    Compilers align the stack pointer in a register by clearing its lowest bits, and compute the frame's start
    there. Assuming an unchanged depth is then a safe upper bound.
    """
    if register in _FRAME_POINTERS:
        return 0
    if before is None or _register(before, 0) != register:
        return None
    if before.insn_name() == "bfc" and before.operands[1].imm == 0:
        return int((1 << before.operands[2].imm) - _WORD_BYTES)
    is_of_frame = before.insn_name() in _SUMS and _register(before, 1) in _FRAME_POINTERS
    return 0 if is_of_frame and before.operands[-1].type == _types().ARM_OP_IMM else None


def _added(found: Any, sign: int) -> int | None:
    """Returns the stack bytes of an addition to the stack pointer or frame pointer."""
    last = found.operands[-1]
    if last.type != _types().ARM_OP_IMM:
        return None
    base = _register(found, len(found.operands) - 2)
    return sign * int(last.imm) if base == "sp" else 0 if base in _FRAME_POINTERS else None


def _listed_bytes(found: Any) -> int:
    listed = _LIST.search(found.op_str)
    names = listed[1].split(", ") if listed else []
    return sum(8 if name.startswith("d") else 4 for name in names)


def _short(found: Any) -> str:
    """Returns the mnemonic without width, in the alias that is printed."""
    return str(found.mnemonic).partition(".")[0]


def _written(found: Any) -> frozenset[str]:
    return frozenset(_named(found, number) for number in found.regs_access()[1])


def _register(found: Any, place: int) -> str:
    operand = found.operands[place]
    return _named(found, operand.reg) if operand.type == _types().ARM_OP_REG else ""


def _memory_base(found: Any) -> str:
    bases = [_named(found, o.mem.base) for o in found.operands if o.type == _types().ARM_OP_MEM]
    return bases[0] if bases else ""


def _named(found: Any, number: int) -> str:
    name = str(found.reg_name(number))
    return USUAL_NAME.get(name, name)


def _types() -> Any:
    from capstone import arm

    return arm


_MOST_BYTES = 1 << 20  # exceeding it means that a loop grows the stack without end


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call, or a jump out of the function, and the stack in use there."""

    bytes: int
    target: int


@dataclass(frozen=True, slots=True)
class Frame:
    bytes: int  # maximum depth
    sites: tuple[CallSite, ...]
    by_register: tuple[MachineStep, ...]  # indirect calls and jumps
    unbounded: tuple[MachineStep, ...]  # instructions that move the stack pointer by an unknown amount


def frame_of(steps: Sequence[MachineStep], start: int) -> Frame:
    """Follows a function from its entry address.

    Code reached only through a table of offsets is assumed to start at the depth of the table's jump.
    """
    walk = _DepthWalk({step.address: step for step in steps})
    walk.follow(start, 0)
    for step in steps:
        if step.address not in walk.before:
            walk.follow(step.address, walk.depth_at_tables)
    return walk.frame()


class _DepthWalk:
    """The stack depth before each instruction, maximized over all paths."""

    def __init__(self, steps: Mapping[int, MachineStep]) -> None:
        self._steps = steps
        self.before: dict[int, int] = {}
        self.depth_at_tables = 0
        self._sites: set[CallSite] = set()
        self._endless: set[int] = set()

    def follow(self, address: int, depth: int) -> None:
        waiting = [(address, depth)]
        while waiting:
            address, depth = waiting.pop()
            step = self._steps.get(address)
            if step is None or depth <= self.before.get(address, -1):
                continue
            if depth > _MOST_BYTES:
                self._endless.add(address)
                continue
            self.before[address] = depth
            waiting += self._behind(step, depth)

    def _behind(self, step: MachineStep, depth: int) -> list[tuple[int, int]]:
        """Returns the possible next instructions, with the depth before each."""
        after = max(0, depth + step.taken)
        next_one = step.end, max(depth, after) if step.is_conditional else after
        if step.continuation is Continuation.TABLE:
            self.depth_at_tables = max(self.depth_at_tables, after)
        if step.target is not None and (
            step.continuation is Continuation.CALL or step.target not in self._steps
        ):
            self._sites.add(CallSite(depth, step.target))
        goes_on = (
            step.continuation in (Continuation.NEXT, Continuation.CALL)
            or step.is_conditional
            or step.text.startswith("blx")
        )
        found = [next_one] if goes_on else []
        if step.continuation is Continuation.JUMP and step.target is not None and step.target in self._steps:
            found.append((step.target, after))
        return found

    def frame(self) -> Frame:
        steps = [self._steps[address] for address in sorted(self.before)]
        return Frame(
            bytes=max(
                max(self.before[step.address], self.before[step.address] + step.taken) for step in steps
            ),
            sites=tuple(sorted(self._sites, key=lambda site: (site.target, site.bytes))),
            by_register=tuple(step for step in steps if step.continuation is Continuation.REGISTER),
            unbounded=tuple(s for s in steps if s.loses_stack or s.address in self._endless),
        )
