"""The chapter on stack and memory: a bound for the stack, and the address of everything in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from aot.errors import ToolError
from aot.wording import counted
from codegen.c.names import ENTRIES
from deploy.devices.firmware import Ready
from deploy.proving.c_functions import constants_of
from deploy.proving.chapter import Cell, Finding, Standing, Table, not_run
from deploy.proving.lone_program import foreign_sources
from deploy.proving.machine.build import (
    built,
    bytes_around_run,
    emulator_of,
    obstacle_to_building,
    painted_bytes,
    require_capstone,
)
from deploy.proving.machine.objects import TakenAddress, WrittenMemory, taken_addresses, written_memory
from deploy.proving.machine.program import CallTree, LinkedProgram, call_tree
from deploy.proving.subject import Subject
from platforms.arena_words import variable
from platforms.project import project_source
from platforms.stack_depth import stack_usage

_READERS = ("capstone", "pyelftools")
_HEAP = frozenset(("malloc", "calloc", "realloc", "free", "aligned_alloc", "sbrk"))
_METHOD = (
    "The model is built with the server for the board, and the program that the linker made is read: from "
    "each function that callers use, along every call, each instruction's effect on the stack pointer. So "
    "functions of the C library count as they are, and nothing is taken from the compiler's word. Where the "
    "compiler tells what a function takes (-fstack-usage), no function may take more.",
    "A recursion, a call by a register, a stack pointer that is moved by an amount in a register, or a "
    "function of the heap among those that are reached makes the chapter fail. The cases of a switch, which "
    "a table lists, are taken to begin as deep as the jump to them.",
    "No address of a function is kept in the model's objects, by their relocations, but in the table by "
    "which the server calls the model; nothing but the arena is written there. Interrupts use the stack too, "
    "and are not the model's.",
    "The same program runs in an emulator with the stack painted before. What is painted over afterwards has "
    "to be no more than the bound, the server's calls around the run and an exception of the deadline's "
    "timer.",
)


@dataclass(frozen=True)
class _Read:
    """Everything read from the firmware."""

    subject: Subject
    ready: Ready
    program: LinkedProgram
    trees: tuple[CallTree, ...]  # one for each function that callers use
    usage: dict[str, int]  # by function, from the compiler
    taken: tuple[TakenAddress, ...]
    written: tuple[WrittenMemory, ...]

    @property
    def run(self) -> CallTree:
        return self.trees[0]

    @property
    def is_recursive(self) -> bool:
        return any(tree.circle for tree in self.trees)

    @property
    def bytes(self) -> int:
        """The largest stack usage of these functions."""
        return max(tree.deepest[tree.entry] for tree in self.trees)


def examine_stack_and_memory(subject: Subject) -> Finding:
    """Analyzes the linked program. Raises MissingToolError without a compiler or capstone."""
    if why := obstacle_to_building(subject):
        return not_run(why)
    require_capstone()
    read = _read(subject)
    failures, exceptions, painted = [*_of_code(read), *_of_memory(read)], [*_exceptions(read)], ""
    tools = [str(read.ready.built.toolchain), *(f"{name} {version(name)}" for name in _READERS)]
    emulator, lacks = emulator_of(read.ready.board)
    if emulator:
        tools.append(emulator)
        bound, used = _paint(read, emulator)
        painted = f"; with the server's calls around it at most {bound:,}, and {used:,} were painted over"
        failures += [f"more stack is used than the bound{painted}"] if used > bound else []
        failures += [f"{emulator} reports no stack painted over: it ran nothing"] if not used else []
    else:
        exceptions.append(f"the bound was not held against a painted stack: {lacks}")
    tables = (*_deepest(read), _functions(read), _memory(read))
    if failures:
        return Finding(Standing.FAILED, "; ".join(failures), (), _METHOD, tables, tuple(tools))
    standing = Standing.EXCEPTIONS if exceptions else Standing.PROVEN
    return Finding(standing, _summary(read) + painted, tuple(exceptions), _METHOD, tables, tuple(tools))


def _summary(read: _Read) -> str:
    names = {name for tree in read.trees for name in tree.names.values()}
    return (
        f"a run takes {read.bytes:,} bytes of stack at most, in {counted(len(names), 'function')} without "
        "recursion, heap or call by a pointer"
    )


def _paint(read: _Read, emulator: str) -> tuple[int, int]:
    """Returns the bound including the server's calls, and the measured use; 0, 0 if there is no bound."""
    if read.is_recursive:
        return 0, 0
    around = bytes_around_run(read.program, read.run)
    return read.bytes + around, painted_bytes(read.ready, emulator)


def _read(subject: Subject) -> _Read:
    ready = built(subject)
    program, objects = LinkedProgram(ready.built.elf), ready.built.elf.parent / "model"
    _require_objects(subject, objects)
    there = {symbol.name for symbol in program.functions.values()}
    entries = [f"{subject.name}_{end}" for end in ENTRIES]
    return _Read(
        subject,
        ready,
        program,
        tuple(call_tree(program, entry) for entry in entries if entry in there),
        stack_usage(objects),
        taken_addresses(objects),
        written_memory(objects),
    )


def _require_objects(subject: Subject, folder: Path) -> None:
    """Raises ToolError unless each source has an object file; without any, every check would pass."""
    there = {path.stem for path in folder.rglob("*.o")}
    if lacks := [source for source in subject.artifact.sources if Path(source).stem not in there]:
        raise ToolError(f"the build has no object file of {lacks[0]}, so its addresses cannot be read")


def _of_code(read: _Read) -> Iterator[str]:
    """Yields a sentence for each problem in the code."""
    allowed, foreign = f"{read.subject.name}_describe", _foreign(read.subject)
    for tree in read.trees:
        if tree.circle:
            yield f"{' > '.join(tree.circle)} is a recursion: no stack is known to suffice"
        for address, frame in tree.frames.items():
            name = tree.names[address]
            yield from (f"{name} goes to where a register says ({s.text})" for s in frame.by_register)
            yield from (f"{name} takes an unknown amount of stack ({s.text})" for s in frame.unbounded)
            said = read.usage.get(name.partition(".")[0])
            if said is not None and frame.bytes > said:
                yield f"{name} takes {frame.bytes:,} bytes of stack, and {said:,} by the compiler's account"
            if name.strip("_").removesuffix("_r") in _HEAP:
                yield f"{name} is called: it takes memory from a heap"
    for taken in read.taken:
        if taken.object != allowed and taken.object not in foreign:
            yield f"{taken.object} keeps the address of {taken.function} in {taken.section}"


def _of_memory(read: _Read) -> Iterator[str]:
    foreign = _foreign(read.subject)
    for each in read.written:
        if each.object not in foreign:
            yield f"{each.object} writes {each.bytes:,} bytes in {each.section}, outside of the arena"
    for kind, name, _, _, held, stated in _places(read):
        if held not in (stated, 0):
            yield f"{kind} {name} has {held:,} bytes in the program, and {stated:,} by the archive"


def _exceptions(read: _Read) -> Iterator[str]:
    """Yields everything that was not compared, and how an accelerator's library differs from generated C."""
    foreign = _foreign(read.subject)
    if not read.usage:
        yield "the compiler gives no account of the stack of its functions, so none was compared with it"
    for taken in read.taken:
        if taken.object in foreign:
            yield f"{taken.object}, not generated, keeps the address of {taken.function} in {taken.section}"
    for each in read.written:
        if each.object in foreign:
            yield f"{each.object}, not generated, writes {each.bytes:,} bytes in {each.section}"


def _foreign(subject: Subject) -> frozenset[str]:
    return frozenset(Path(name).stem for name in foreign_sources(subject.artifact))


def _functions(read: _Read) -> Table:
    frames = {a: (tree, frame) for tree in read.trees for a, frame in tree.frames.items()}
    rows = [
        (
            tree.names[address],
            f"{address:#010x}",
            frame.bytes,
            _by_compiler(read, tree.names[address]),
            tree.deepest.get(address, "no bound"),
            ", ".join(tree.names[target] for target in tree.calls(address)),
        )
        for address, (tree, frame) in sorted(frames.items())
    ]
    columns = ("function", "address", "stack bytes", "by the compiler", "with what it calls", "calls")
    return Table("Functions that are reached", columns, rows)


def _by_compiler(read: _Read, name: str) -> Cell:
    """Returns the compiler's stack usage; functions of libraries have none."""
    return read.usage.get(name.partition(".")[0], "not given")


def _deepest(read: _Read) -> Iterator[Table]:
    if read.is_recursive:
        return
    chain = read.run.chain()
    below = [*(read.run.deepest[address] for address in chain[1:]), 0]
    rows = [
        (read.run.names[address], read.run.deepest[address] - less, read.run.deepest[address])
        for address, less in zip(chain, below, strict=True)
    ]
    yield Table("The deepest calls", ("function", "bytes at the call", "from here on"), rows)


def _memory(read: _Read) -> Table:
    regions = read.ready.board.regions
    rows = [
        (kind, name, next((r.name for r in regions if r.origin <= at < r.origin + r.bytes), "none"),
         f"{at:#010x}" if held else "not kept by the linker", held, stated)
        for kind, name, _, at, held, stated in _places(read)
    ]  # fmt: skip
    columns = ("kind", "name", "region", "address", "bytes in the program", "bytes by the archive")
    return Table("Memory of the model", columns, rows)


def _places(read: _Read) -> Sequence[tuple[str, str, str, int, int, int]]:
    """Returns kind, name, symbol, address, bytes in the program, and bytes in the archive of each item."""
    artifact = read.subject.artifact
    symbols = {s.name.partition(".")[0]: s for s in read.program.symbols if s.kind == "STT_OBJECT"}
    arenas = project_source(artifact).arenas
    wanted = [("arena", arena.name, variable(n, arena), arena.bytes) for n, arena in enumerate(arenas)]
    for text in (*artifact.sources.values(), *artifact.headers.values()):
        wanted += [("constant", name, name, each.bytes) for name, each in constants_of(text).items()]
    return [
        (kind, name, symbol, symbols[symbol].address, symbols[symbol].bytes, count)
        if symbol in symbols
        else (kind, name, symbol, 0, 0, count)
        for kind, name, symbol, count in wanted
    ]
