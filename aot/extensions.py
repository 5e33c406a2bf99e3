"""Finds extensions from outside this repository: entry points of installed packages, and calls of `register`.

A package lists its objects under the group of a table ("solder.ops", "solder.platforms", ...); the table
adds them to its built-in entries. Nothing is imported before a table of that group is used.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from aot.errors import ExtensionError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")

OPS, PASSES, ISAS, ACCELERATORS = "solder.ops", "solder.passes", "solder.isa", "solder.accelerators"
SCHEDULES = "solder.schedules"
BOARDS, PLATFORMS, RUNNERS = "solder.boards", "solder.platforms", "solder.runners"
CHANNELS = "solder.channels"
# Group -> meaning of its entry points.
GROUPS: Mapping[str, str] = {
    OPS: "modules with OP and KERNEL, and TFLITE and ONNX where files have an operator for it",
    PASSES: "modules with a function of the pass's name, and TABLE, BEFORE and WHY",
    ISAS: "instruction sets: objects of codegen.isa.isa.Isa",
    ACCELERATORS: "objects of codegen.accelerators.accelerator.Accelerator",
    SCHEDULES: "modules with schedules of layers, made by deploy.lang.layer_schedule",
    BOARDS: "packages whose folder holds board files, and core files in core/",
    PLATFORMS: "modules with PLATFORM and SECTION",
    RUNNERS: "modules with SECTION and what platforms/runners/runner.py asks of an emulator or a flasher",
    CHANNELS: "modules with SUMMARY, SUFFIX and files, as platforms/channels/channel.py asks of a channel",
}
_OURSELVES = "Solder itself"
_SHIPPED = "extensions"


@dataclass(frozen=True, slots=True)
class Extension:
    """An object that a package or a program adds."""

    group: str
    name: str
    origin: str  # the package with its version, or the program
    load: Callable[[], object]


_registered: list[Extension] = []


def register(group: str, name: str, value: object) -> None:
    """Adds an object to a group while this program runs, like an entry point of that name."""
    _require_group(group)
    _registered.append(Extension(group, name, "this program", lambda: value))
    _loaded.cache_clear()


def unregister(group: str, name: str) -> None:
    """Removes an object added by `register`."""
    _registered[:] = [e for e in _registered if (e.group, e.name) != (group, name)]
    _loaded.cache_clear()


def loaded(group: str) -> Mapping[str, object]:
    """Returns the objects of a group by name. Raises ExtensionError for duplicate names and failing loads."""
    return _loaded(group)


def forget_loaded() -> None:
    """Makes the next use search installed packages again."""
    _declared.cache_clear()
    _loaded.cache_clear()


@functools.cache
def _loaded(group: str) -> Mapping[str, object]:
    _require_group(group)
    found: dict[str, Extension] = {}
    for extension in (*_installed(group), *(e for e in _registered if e.group == group)):
        other = found.setdefault(extension.name, extension)
        if other is not extension:
            raise _clash(group, extension.name, other.origin, extension.origin)
    return {name: _load(extension) for name, extension in found.items()}


def shipped(table: str) -> tuple[str, ...]:
    """Returns the names in a table of the package `extensions`, which is optional; empty without it."""
    if find_spec(_SHIPPED) is None:
        return ()
    names: tuple[str, ...] = getattr(import_module(_SHIPPED), table, ())
    return names


def part(name: str, module: str) -> Any:
    """Imports that module of one part of `extensions`."""
    return import_module(f"{_SHIPPED}.{name.replace('-', '_')}.{module}")


def origin_of(module: str) -> str:
    """Returns the installed extension package, with version, that contains the module; "" if none does."""
    top = module.partition(".")[0]
    points = (point for group in _declared().values() for point in group)
    own = (point for point in points if re.split("[.:]", point.value)[0] == top)
    return next(map(_package, own), "")


def _installed(group: str) -> Iterator[Extension]:
    for point in sorted(_declared()[group], key=lambda point: (point.name, point.value)):
        yield Extension(group, point.name, _package(point), point.load)


@functools.cache
def _declared() -> Mapping[str, Sequence[EntryPoint]]:
    """Returns the entry points of all groups at once: a search for one group reads every package, too."""
    from importlib.metadata import entry_points  # slow: doubles the import time of an emulated board

    points = entry_points()
    return {group: tuple(points.select(group=group)) for group in GROUPS}


def _package(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else point.value


def _load(extension: Extension) -> object:
    try:
        return extension.load()
    except Exception as error:  # foreign code: its import may raise anything
        raise ExtensionError(
            f'"{extension.name}" of {extension.group} cannot be loaded: {type(error).__name__}: {error}',
            f"it is declared by {extension.origin}",
            "repair or uninstall that package",
        ) from error


def _clash(group: str, name: str, one: str, other: str) -> ExtensionError:
    return ExtensionError(
        f'"{name}" of {group} is declared twice', f"by {one} and by {other}", "uninstall one of the two"
    )


def _require_group(group: str) -> None:
    if group not in GROUPS:
        raise ExtensionError(f'"{group}" is not an extension group', hint=f"known: {', '.join(GROUPS)}")


def entries_of(attribute: str) -> Callable[[str, object], Mapping[str, T]]:
    """Returns a reader of the mapping with that name in an extension, or an empty one."""

    def entries(name: str, extension: object) -> Mapping[str, T]:
        found: Mapping[str, T] = getattr(extension, attribute, {})
        return found

    return entries


def module_with(attribute: str) -> Callable[[str, object], Mapping[str, str]]:
    """Returns a reader that names the module if it has this attribute: groups may mix kinds of modules."""

    def entries(name: str, extension: object) -> Mapping[str, str]:
        return module_of(name, extension) if hasattr(extension, attribute) else {}

    return entries


def module_of(name: str, extension: object) -> Mapping[str, str]:
    """Returns the name of a module, for tables of modules."""
    return {name: str(getattr(extension, "__name__", ""))}


def entry_of(attribute: str, kind: type[T] | None = None) -> Callable[[str, object], Mapping[str, T]]:
    """Returns a reader of the required object with that name in an extension."""

    def entry(name: str, extension: object) -> Mapping[str, T]:
        found = getattr(extension, attribute, None)
        if found is None or (kind is not None and not isinstance(found, kind)):
            wanted = f"{attribute}, a {kind.__name__}" if kind is not None else attribute
            raise ExtensionError(f'the extension "{name}" has no {wanted}', hint="deploy docs extensions")
        return {name: found}

    return entry


class LazyTable(Mapping[str, T], Generic[T]):
    """Loads each entry on first use: most programs need few entries of a large table."""

    def __init__(self, names: Iterable[str], load: Callable[[str], T]) -> None:
        self._names, self._load = dict.fromkeys(names), load
        self._found: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._found:
            self._found[name] = self._load(name)
        return self._found[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class OpenTable(Mapping[str, T], Generic[T]):
    """The built-in entries, followed by those of a group's extensions.

    `entries` reads the entries that one extension adds to this table. An extension may not replace an entry.
    """

    def __init__(
        self, own: Mapping[str, T], group: str, entries: Callable[[str, object], Mapping[str, T]]
    ) -> None:
        self.own, self.group, self._entries_of = own, group, entries
        self._known: tuple[Mapping[str, object], Mapping[str, T]] | None = None

    def __getitem__(self, name: str) -> T:
        return self.own[name] if name in self.own else self._added()[name]

    def __contains__(self, name: object) -> bool:
        return name in self.own or name in self._added()

    def __iter__(self) -> Iterator[str]:
        return itertools.chain(self.own, self._added())

    def __len__(self) -> int:
        return len(self.own) + len(self._added())

    def _added(self) -> Mapping[str, T]:
        extensions = loaded(self.group)
        if self._known is None or self._known[0] is not extensions:
            self._known = extensions, self._entries(extensions)
        return self._known[1]

    def _entries(self, extensions: Mapping[str, object]) -> Mapping[str, T]:
        found: dict[str, T] = {}
        makers: dict[str, str] = {}
        for extension, value in extensions.items():
            for name, entry in self._entries_of(extension, value).items():
                if name in self.own or name in found:
                    maker = makers.get(name, _OURSELVES)
                    raise _clash(self.group, name, maker, f'the extension "{extension}"')
                found[name], makers[name] = entry, f'the extension "{extension}"'
        return found
