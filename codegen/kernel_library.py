"""The functions of a model's C file: layers of equal shape share one, helpers come before their users."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from aot.ir.types import DType
from codegen.instr.instruction import Function, Instruction
from codegen.loops.ir import Buffer, Proc
from codegen.loops.lift import lift, shape_of
from codegen.loops.print_c import PrintedProc, expand_unrolled, print_expanded
from codegen.plain_names import plain_names, renamed
from codegen.stages import LoweredStage


@dataclass(frozen=True)
class SharedKernel:
    """The function that a stage calls."""

    name: str
    params: tuple[Buffer, ...]
    numbers: Mapping[str, int]  # members of the shape that it is given as its last parameter


@dataclass(frozen=True)
class KernelLibrary:
    includes: tuple[str, ...]
    helpers: tuple[str, ...]  # C definitions, each before its first user
    kernels: tuple[str, ...]
    procs: tuple[Proc, ...]  # what the kernels were printed from
    calls: tuple[tuple[SharedKernel, ...], ...]  # per stage, one for each of its kernel's procs


@dataclass(frozen=True, slots=True)
class _User:
    """A kernel that some stage needs, its loops written out, without a name."""

    proc: Proc
    summary: str


def kernel_library(stages: Sequence[LoweredStage], lifts: bool, space: str) -> KernelLibrary:
    """One function for equal kernels; where it `lifts`, one for those that are equal but for literals.

    `space` is the address space of C that constants are in.
    """
    families: dict[Hashable, dict[_User, str]] = {}  # what is common -> those who have it, their first names
    users = [[_user(stage, proc) for proc in stage.kernel.procs] for stage in stages]
    for stage, mine in zip(stages, users, strict=True):
        for user, proc in zip(mine, stage.kernel.procs, strict=True):
            key = shape_of(user.proc) if lifts else user
            families.setdefault(key, {}).setdefault(user, proc.name)
    functions: dict[_User, SharedKernel] = {}
    printed, procs, taken = [], [], set[str]()
    for family in families.values():
        name = _free_name(_common_name(tuple(family.values())), taken)
        made, proc, shared = _family(name, tuple(family), space)
        printed.append(made)
        procs.append(proc)
        functions |= zip(family, shared, strict=True)
    helpers, includes = _helpers(printed)
    plain = plain_names(helpers, taken)
    texts = tuple(renamed(text, plain) for text in dict.fromkeys(helpers.values()))
    kernels = tuple(renamed(p.text, plain) for p in printed)
    calls = tuple(tuple(functions[user] for user in mine) for mine in users)
    return KernelLibrary(includes, texts, kernels, tuple(procs), calls)


def _user(stage: LoweredStage, proc: Proc) -> _User:
    return _User(replace(proc, name="", body=expand_unrolled(proc.body)), stage.kernel.summary)


def _family(
    name: str, users: Sequence[_User], space: str
) -> tuple[PrintedProc, Proc, tuple[SharedKernel, ...]]:
    """The function of some kernels of one shape, and what each of them calls it with."""
    lifted = lift([user.proc for user in users])
    others = len({user.summary for user in users}) - 1
    summary = users[0].summary + (f" Also for {others} of other numbers." if others else "")
    proc = replace(lifted.proc, name=name)
    printed = print_expanded(proc, summary, _c_types(lifted.numbers), space)
    used = [{n: numbers[n] for n in printed.numbers} for numbers in lifted.numbers]
    return printed, proc, tuple(SharedKernel(name, printed.params, numbers) for numbers in used)


def _c_types(numbers: Sequence[Mapping[str, int]]) -> Mapping[str, DType]:
    """The smallest type that holds a parameter's value in every kernel."""
    low, high = DType.I16.limits
    fits = {name: all(low <= mine[name] <= high for mine in numbers) for name in numbers[0]}
    return {name: DType.I16 if is_short else DType.I32 for name, is_short in fits.items()}


def _common_name(names: Sequence[str]) -> str:
    """The words that all names begin with; the first word of all where they have none in common."""
    words = [name.split("_") for name in names]
    common = takewhile(lambda same: len(set(same)) == 1, zip(*words, strict=False))
    return "_".join(word for word, *_ in common) or words[0][0]


def _free_name(base: str, taken: set[str]) -> str:
    name, count = base, 2
    while name in taken:
        name, count = f"{base}_{count}", count + 1
    taken.add(name)
    return name


def _helpers(printed: Sequence[PrintedProc]) -> tuple[Mapping[str, str], tuple[str, ...]]:
    """Name -> definition, each before its first user; what they include."""
    names: dict[str, str] = {}
    includes: set[str] = set()

    def add(helper: Function | Instruction) -> None:
        for needed in helper.needs:
            add(needed)
        known = names.setdefault(helper.name, helper.definition)
        assert known == helper.definition, f"two functions are called {helper.name}"
        includes.update(helper.includes)

    for proc in printed:
        for helper in (*proc.functions, *proc.instructions):
            assert isinstance(helper, Function | Instruction)
            add(helper)
    return names, tuple(sorted(includes))
