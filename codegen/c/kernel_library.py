"""The functions of a model's C file: layers of equal shape share one, helpers precede their users."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from enum import Enum
from itertools import takewhile
from typing import TYPE_CHECKING

from aot.target import Feature
from codegen.c.kernel_function import HALF, KernelFunction, kernel_function
from codegen.c.lift import Lifted, lift, shape_key
from codegen.c.names import layer_labels
from codegen.c.printer import Printer, shape_struct
from codegen.c.tree import (
    AnyHelper,
    DefinePointers,
    DefineShape,
    DefineTable,
    Do,
    Expr,
    FunctionCall,
    FunctionDefinition,
    Helper,
    Name,
    Prefix,
    Stmt,
    TypedName,
)
from codegen.c.tree_walk import helpers_of
from codegen.formats import RowFormat
from codegen.isa.names import demangle
from codegen.kernels.kernel import Kernel
from codegen.loops.ir import Buffer, Instruction, Proc, Role, ScalarFunction
from codegen.lower.stages import LoweredStage

if TYPE_CHECKING:
    from codegen.kernels.kernel import CFunction, CLibrary


# The helpers of a file: each once, before its first user, with a readable name.
#
# A function that is specialized for numbers has their checksum in its name (`mangle`), so that it can be
# generated independently of other functions. In a file, a reader needs the operation and which of several
# variants it is, so the checksum becomes a counter.


@dataclass(frozen=True, slots=True)
class Helpers:
    every: tuple[AnyHelper, ...]  # each before its first user
    names: Mapping[str, str]  # names in this file, if they differ
    needs: frozenset[Feature]  # of the core, over all uses; alignment depends on the caller

    @property
    def includes(self) -> tuple[str, ...]:
        return tuple(sorted({name for helper in self.every for name in helper.includes}))

    def texts(self, printer: Printer) -> tuple[str, ...]:
        """Returns the definitions."""
        return tuple(dict.fromkeys(_definition(helper, printer) for helper in self.every))

    def unnamed_texts(self) -> tuple[str, ...]:
        """Returns the definitions with the original names, sorted by these."""
        return tuple(helper.definition for helper in sorted(self.every, key=lambda helper: helper.name))


def collect_helpers(called: Iterable[AnyHelper], taken: Set[str] = frozenset()) -> Helpers:
    """Returns these helpers and all their callees; `taken` are names of other functions in the file."""
    found: dict[str, AnyHelper] = {}
    needs: set[Feature] = set()

    for helper in called:
        _add(helper, found, needs)
    every = sorted(found.values(), key=lambda helper: not _is_of_file(helper))
    return Helpers(tuple(every), plain_names(found, taken), frozenset(needs))


def _is_of_file(helper: AnyHelper) -> bool:
    return isinstance(helper, ScalarFunction) and helper.is_of_file


def _add(helper: AnyHelper, found: dict[str, AnyHelper], needs: set[Feature]) -> None:
    for called in helper.calls:
        _add(called, found, needs)
    known = found.setdefault(helper.name, helper)
    assert known.definition == helper.definition, f"two functions are named {helper.name}"
    if not isinstance(helper, Helper):
        needs.update(helper.needs)


def plain_names(names: Iterable[str], taken: Set[str]) -> Mapping[str, str]:
    """Maps each name with a checksum to the name without it, numbered if that is taken."""
    names = tuple(names)
    plain = {name: demangle(name) for name in names}
    used = {*taken, *(name for name in names if plain[name] == name)}
    found: dict[str, str] = {}
    for name, base in plain.items():
        if base == name:
            continue
        free, count = base, 2
        while free in used:
            free, count = f"{base}_{count}", count + 1
        used.add(free)
        found[name] = free
    return found


def _definition(helper: AnyHelper, printer: Printer) -> str:
    """Returns the definition. It mentions only itself and the functions in its `calls`."""
    return printer.helper_text(helper.definition, (helper.name, *(called.name for called in helper.calls)))


Users = Sequence[tuple[str, RowFormat]]  # layers that call a function, and the row formats that they write

_PARTS_OF_GROWING = (
    "\nBefore the first row: sets the sums to their start values.",
    "\nOne row is added to the sums.",
    "\nAfter the last row: the sums become the result.",
)
_PARTS_OF_STEPS = ("\nBefore the first step: sets the state to its start values.", "")


class Sharing(Enum):
    """Specifies which layers share a function."""

    NONE = "each has its own, with the layer's name in its own"
    EQUAL = "those whose loops are equal"
    PARAMETRIC = "those whose loops differ in nothing but integers"


@dataclass(frozen=True)
class SharedKernel:
    """The function that a stage calls."""

    name: str
    params: tuple[Buffer, ...]
    numbers: Mapping[str, int]  # members of the shape that is its last parameter


@dataclass(frozen=True)
class KernelLibrary:
    helpers: Helpers
    kernels: tuple[KernelFunction, ...]
    calls: tuple[tuple[SharedKernel, ...], ...]  # per stage, one per proc of its kernel
    libraries: tuple[CLibrary, ...] = ()  # of functions that are not generated
    library_stack_bytes: int = 0  # the largest stack of these

    @property
    def names(self) -> frozenset[str]:
        """Returns the names of all functions and macros of the C file except layers."""
        helpers = (self.helpers.names.get(helper.name, helper.name) for helper in self.helpers.every)
        return frozenset((*helpers, *(call.name for calls in self.calls for call in calls)))

    @property
    def needs(self) -> frozenset[Feature]:
        """Returns the core features that the code needs."""
        return self.helpers.needs.union(*(library.needs for library in self.libraries))


def kernel_library(
    stages: Sequence[LoweredStage], sharing: Sharing, merged: Collection[str] = ()
) -> KernelLibrary:
    """Creates the functions of the stages' kernels; the layers `merged` share as if all were to."""
    families: dict[Hashable, dict[KernelFunction, str]] = {}  # common part -> its kernels, their first name
    labels = layer_labels(stages)
    owners = [f"{label}_" if sharing is Sharing.NONE else "" for label in labels]
    users = [_functions(stage.kernel, owner) for stage, owner in zip(stages, owners, strict=True)]
    foreign = [function for stage in stages for function, _ in _foreign(stage.kernel)]
    for stage, owner, mine in zip(stages, owners, users, strict=True):
        for user, proc in zip(mine, stage.kernel.procs if mine else (), strict=True):
            is_merged = sharing is Sharing.PARAMETRIC or stage.name in merged
            key = (is_merged, shape_key(user.function) if is_merged else user.function)
            families.setdefault(key, {}).setdefault(user, f"{owner}{proc.name}")
    shared: dict[KernelFunction, SharedKernel] = {}
    kernels, taken = [], {function.name for function in foreign}
    for family in families.values():
        name = _free_name(_common_name(tuple(family.values())), taken)
        kernel, calls = _family(name, tuple(family))
        kernels.append(kernel)
        shared |= zip(family, calls, strict=True)
    helpers = collect_helpers((h for k in kernels for h in called_helpers(k.function)), taken)
    called = tuple(
        _calls_of(stage.kernel) or tuple(shared[user] for user in mine)
        for stage, mine in zip(stages, users, strict=True)
    )
    return KernelLibrary(
        helpers,
        disambiguate(kernels, _callers(kernels, called, stages, labels), helpers),
        called,
        tuple(dict.fromkeys(function.library for function in foreign)),
        max((function.stack_bytes for function in foreign), default=0),
    )


@dataclass(frozen=True)
class KernelFamily:
    """Layers whose kernels differ in nothing but integers."""

    stages: tuple[LoweredStage, ...]
    functions: tuple[FunctionDefinition, ...]  # the different ones
    merged: Lifted


def kernel_families(stages: Sequence[LoweredStage]) -> Iterator[KernelFamily]:
    """Yields the families in which layers have several functions, and could have one."""
    found: dict[FunctionDefinition, list[tuple[LoweredStage, FunctionDefinition]]] = {}
    for stage in stages:
        for user in _functions(stage.kernel, ""):
            found.setdefault(shape_key(user.function), []).append((stage, user.function))
    for users in found.values():
        functions = tuple(dict.fromkeys(function for _, function in users))
        if len(functions) > 1:
            yield KernelFamily(tuple(stage for stage, _ in users), functions, lift(functions))


def _calls_of(kernel: Kernel) -> tuple[SharedKernel, ...]:
    """Returns the calls of functions that are not generated; empty if loops compute the layer."""
    return tuple(
        SharedKernel(function.name, proc.params, dict(function.numbers))
        for function, proc in _foreign(kernel)
    )


def _foreign(kernel: Kernel) -> Iterator[tuple[CFunction, Proc]]:
    """Yields the functions of a kernel that are not generated, with their parameters."""
    if kernel.started is not None:
        yield kernel.started.calls, kernel.started.proc
    if kernel.calls is not None:
        yield kernel.calls, kernel.proc


def _callers(
    kernels: Sequence[KernelFunction],
    calls: Sequence[Sequence[SharedKernel]],
    stages: Sequence[LoweredStage],
    labels: Sequence[str],
) -> list[Users]:
    """Returns the layers that call each function."""
    found: dict[str, list[tuple[str, RowFormat]]] = {kernel.function.name: [] for kernel in kernels}
    for label, mine, stage in zip(labels, calls, stages, strict=True):
        for call in (call for call in mine if call.name in found):
            found[call.name].append((label, stage.result.format))
    return list(found.values())


def _functions(kernel: Kernel, owner: str) -> list[KernelFunction]:
    """Returns the functions to generate, named by their owner; if there are several, also by their part."""
    if kernel.calls is not None:
        return []
    parts: tuple[str, ...] = _PARTS_OF_STEPS if kernel.carried is not None else ("",)
    parts = _PARTS_OF_GROWING if kernel.accumulation is not None else parts
    return [
        kernel_function(replace(proc, name=owner), f"{kernel.summary}{part}", kernel.in_halves)
        for proc, part in zip(kernel.procs, parts, strict=True)
    ]


def called_helpers(function: FunctionDefinition) -> list[AnyHelper]:
    """Returns the helpers that a function calls: functions, then instructions."""
    return sorted(helpers_of(function), key=lambda helper: isinstance(helper, Instruction))


def _family(name: str, users: Sequence[KernelFunction]) -> tuple[KernelFunction, tuple[SharedKernel, ...]]:
    """Returns the function of kernels of one shape, and the arguments with which each layer calls it."""
    lifted = lift([user.function for user in users])
    others = len({user.function.comment for user in users}) - 1
    comment = users[0].function.comment + (f" Also for {others} of other numbers." if others else "")
    kernel = replace(users[0], function=replace(lifted.function, name=name, comment=comment))
    return kernel, tuple(SharedKernel(name, kernel.buffers, numbers) for numbers in lifted.numbers)


def _common_name(names: Sequence[str]) -> str:
    """Returns the common prefix of all names, in whole parts, or else the first part of the first name."""
    words = [name.split("_") for name in names]
    common = takewhile(lambda same: len(set(same)) == 1, zip(*words, strict=False))
    return "_".join(word for word, *_ in common) or words[0][0]


def _free_name(base: str, taken: set[str]) -> str:
    name, count = base, 2
    while name in taken:
        name, count = f"{base}_{count}", count + 1
    taken.add(name)
    return name


def disambiguate(
    kernels: Sequence[KernelFunction], users: Sequence[Users], helpers: Helpers
) -> tuple[KernelFunction, ...]:
    """Returns the kernels. Different functions with equal comments get another line of comment.

    It is about the format that they write, the functions that they call, or the layers that call them.
    """
    alike: defaultdict[str, list[int]] = defaultdict(list)
    for number, kernel in enumerate(kernels):
        alike[kernel.function.comment].append(number)
    told = list(kernels)
    for comment, numbers in alike.items():
        if len(numbers) > 1 and comment:
            facts = _facts([kernels[n] for n in numbers], [users[n] for n in numbers], helpers)
            for number, fact in zip(numbers, facts, strict=True):
                function = replace(kernels[number].function, comment=f"{comment}\n{fact}")
                told[number] = replace(kernels[number], function=function)
    return tuple(told)


def _facts(alike: Sequence[KernelFunction], users: Sequence[Users], helpers: Helpers) -> Sequence[str]:
    """Returns the first kind of fact that differs between all functions; layers always do."""
    kinds = ([_written(mine) for mine in users], _called(alike, helpers))
    for facts in kinds:
        if len(set(facts)) == len(facts):
            return facts
    return [_layers(mine) for mine in users]


def _written(users: Users) -> str:
    layouts = sorted({_layout(fmt) for _, fmt in users})
    return f"Writes {' or '.join(layouts)}."


def _layout(fmt: RowFormat) -> str:
    padding = f", the first at element {fmt.left * fmt.x_step}" if fmt.left else ""
    return f"{fmt.layout_text}{padding}"


def _called(alike: Sequence[KernelFunction], helpers: Helpers) -> list[str]:
    """Returns the names of callees that not all of the functions have."""
    called = [[helper.name for helper in helpers_of(kernel.function)] for kernel in alike]
    common = set[str].intersection(*map(set, called))
    own = ([helpers.names.get(n, n) for n in names if n not in common] for names in called)
    return [f"By {', '.join(names)}." if names else "" for names in own]


def _layers(users: Users) -> str:
    *most, last = (label for label, _ in users)
    return f"For {', '.join(most)} and {last}." if most else f"For {last}."


# The call of a kernel by a layer, with arguments in the order of its parameters.


_SHAPE = "shape"


@dataclass(frozen=True, slots=True)
class Operands:
    """The C expressions of a kernel's inputs. Its output is a variable with the parameter's name."""

    row: Callable[[Buffer, int], Expr]  # a pointer to a row, by the pointer's number
    constant: Callable[[str], Expr]  # the array for a parameter
    tables: Callable[[Buffer], Sequence[DefineTable]]  # needed by the pointers to rows


def layer_call(kernel: Kernel, called: SharedKernel, operands: Operands) -> tuple[Stmt, ...]:
    """Returns the arrays that the call needs, and the call."""
    before: list[Stmt] = []
    arguments: list[Expr] = []
    # The function may belong to another layer, in which a row is a constant or the other way round.
    mine = {p.name: p for proc in kernel.procs for p in proc.params}
    for param in (mine[p.name] for p in called.params):
        if param.role is Role.ROWS:
            before += operands.tables(param)
        if param.role is Role.ROWS and param.rows > 1:
            before.append(_pointers(param, operands))
        arguments.append(_argument(param, operands))
    if kernel.in_halves:
        arguments.append(HALF)
    if called.numbers:  # the numbers that distinguish layers that share the function
        before.append(DefineShape(shape_struct(called.name), _SHAPE, tuple(called.numbers.items())))
        arguments.append(Prefix("&", Name(_SHAPE)))
    return (*before, Do(FunctionCall(called.name, tuple(arguments))))


def _argument(param: Buffer, operands: Operands) -> Expr:
    if param.role is Role.ROWS and param.rows == 1:
        return operands.row(param, 0)
    if param.role in (Role.ROWS, Role.OUTPUT, Role.STATE, Role.SCRATCH):
        return Name(param.name)
    return operands.constant(param.name)


def _pointers(param: Buffer, operands: Operands) -> Stmt:
    variable = TypedName(f"const {param.dtype.c_name} *const", param.name, param.rows)
    return DefinePointers(variable, tuple(operands.row(param, number) for number in range(param.rows)))
