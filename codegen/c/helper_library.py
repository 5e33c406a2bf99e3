"""The helpers of a file: each once, before its first user, with a readable name.

A function that is specialized for numbers has their checksum in its name (`mangle`), so that it can be
generated independently of other functions. In a file, a reader needs the operation and which of several
variants it is, so the checksum becomes a counter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass

from aot.target import Feature
from codegen.c.printer import Printer
from codegen.c.tree import AnyHelper, Helper
from codegen.isa.names import demangle
from codegen.loops.ir import ScalarFunction


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
