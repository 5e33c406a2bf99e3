"""The functions of a model's C file: layers of equal shape share one, helpers come before their users."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from codegen.instr.instruction import Function, Instruction
from codegen.loops.ir import Buffer, Proc
from codegen.loops.print_c import PrintedProc, print_proc
from codegen.lower import LoweredStage


@dataclass(frozen=True)
class SharedKernel:
    """The function that a stage calls."""

    name: str
    params: tuple[Buffer, ...]


@dataclass(frozen=True)
class KernelLibrary:
    includes: tuple[str, ...]
    helpers: tuple[str, ...]  # C definitions, each before its first user
    kernels: tuple[str, ...]
    procs: tuple[Proc, ...]  # what the kernels were printed from
    calls: tuple[tuple[SharedKernel, ...], ...]  # per stage, one for each of its kernel's procs


def kernel_library(stages: Sequence[LoweredStage]) -> KernelLibrary:
    texts: dict[str, SharedKernel] = {}  # function text without its name -> function
    taken: set[str] = set()
    printed: list[PrintedProc] = []
    procs: list[Proc] = []
    calls = []
    for stage in stages:
        mine = []
        for proc in stage.kernel.procs:
            anonymous = print_proc(replace(proc, name="?"), stage.kernel.summary)
            if anonymous.text not in texts:
                name = _free_name(proc.name, taken)
                named = print_proc(replace(proc, name=name), stage.kernel.summary)
                printed.append(named)
                procs.append(proc)
                texts[anonymous.text] = SharedKernel(name, named.params)
            mine.append(texts[anonymous.text])
        calls.append(tuple(mine))
    helpers, includes = _helpers(printed)
    return KernelLibrary(includes, helpers, tuple(p.text for p in printed), tuple(procs), tuple(calls))


def _free_name(base: str, taken: set[str]) -> str:
    name, count = base, 2
    while name in taken:
        name, count = f"{base}_{count}", count + 1
    taken.add(name)
    return name


def _helpers(printed: Sequence[PrintedProc]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    definitions: dict[str, None] = {}
    names: dict[str, str] = {}
    includes: set[str] = set()

    def add(helper: Function | Instruction) -> None:
        for needed in helper.needs:
            add(needed)
        known = names.setdefault(helper.name, helper.definition)
        assert known == helper.definition, f"two functions are called {helper.name}"
        definitions.setdefault(helper.definition)
        includes.update(helper.includes)

    for proc in printed:
        for helper in (*proc.functions, *proc.instructions):
            assert isinstance(helper, Function | Instruction)
            add(helper)
    return tuple(definitions), tuple(sorted(includes))
