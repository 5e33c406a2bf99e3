"""The helpers of a file: each once, before its first user, with a name that a reader can say.

A function that is written for its numbers is named by their checksum (`numbered_name`), so that it can be
made without knowing the others of its file. A reader of the file wants the operation, and which of several it
is: there the checksum becomes a counter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass

from aot.target import Feature
from codegen.c.printer import Printer
from codegen.c.tree import AnyHelper, Helper
from codegen.isa.names import without_mark


@dataclass(frozen=True, slots=True)
class Helpers:
    every: tuple[AnyHelper, ...]  # each before its first user
    names: Mapping[str, str]  # names in this file, of those whose name is another
    needs: frozenset[Feature]  # of the core, over all their uses: where a word lies is its caller's doing

    @property
    def includes(self) -> tuple[str, ...]:
        return tuple(sorted({name for helper in self.every for name in helper.includes}))

    def texts(self, printer: Printer) -> tuple[str, ...]:
        """The definitions."""
        return tuple(dict.fromkeys(_definition(helper, printer) for helper in self.every))

    def unnamed_texts(self) -> tuple[str, ...]:
        """The definitions without the names of this file, in the order of the helpers' own names."""
        return tuple(helper.definition for helper in sorted(self.every, key=lambda helper: helper.name))


def collect_helpers(called: Iterable[AnyHelper], taken: Set[str] = frozenset()) -> Helpers:
    """The helpers called, and all that they call; other functions of the file have the names `taken`."""
    found: dict[str, AnyHelper] = {}
    needs: set[Feature] = set()

    for helper in called:
        _add(helper, found, needs)
    return Helpers(tuple(found.values()), plain_names(found, taken), frozenset(needs))


def _add(helper: AnyHelper, found: dict[str, AnyHelper], needs: set[Feature]) -> None:
    for called in helper.calls:
        _add(called, found, needs)
    known = found.setdefault(helper.name, helper)
    assert known.definition == helper.definition, f"two functions are called {helper.name}"
    if not isinstance(helper, Helper):
        needs.update(helper.needs)


def plain_names(names: Iterable[str], taken: Set[str]) -> Mapping[str, str]:
    """Each name with a checksum -> the name without it, numbered where another has it already."""
    names = tuple(names)
    plain = {name: without_mark(name) for name in names}
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
    """Its text names itself and, of others, only what it states to call."""
    return printer.helper_text(helper.definition, (helper.name, *(called.name for called in helper.calls)))
