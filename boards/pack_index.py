"""Reads parts from a CMSIS pack description (.pdsc): cores, memories, flash algorithms. No side effects."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from xml.etree import ElementTree

from aot.errors import BoardError, did_you_mean
from aot.target import Feature, MemoryRegion
from boards.cores import Core, core_names, load_core

_NESTED = ("subFamily", "device", "variant")  # each inherits the attributes of its parent
_NAMES = {"device": "Dname", "variant": "Dvariant"}  # only these elements are orderable parts
_FPU = ("FPU", "SP_FPU", "DP_FPU", "1")
_MVE = ("MVE", "FP_MVE", "1")
_DSP = ("DSP", "1")


@dataclass(frozen=True, slots=True)
class Pack:
    """Identifies the pack that describes a part."""

    vendor: str
    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.vendor}.{self.name} {self.version}"


@dataclass(frozen=True, slots=True)
class PackPart:
    """Facts about a part in the pack's notation."""

    name: str
    pack: Pack
    processors: Mapping[str, Mapping[str, str]]  # by Pname; "" if there is only one
    memories: tuple[Mapping[str, str], ...]
    algorithms: tuple[Mapping[str, str], ...]

    @property
    def cores(self) -> tuple[str, ...]:
        return tuple(core_name(processor.get("Dcore", "")) for processor in self.processors.values())


def core_name(dcore: str) -> str:
    """Converts "Cortex-M0+", or "CortexM0Plus" of cmsis-pack-manager, to the spelling of board files."""
    number = re.fullmatch(r"Cortex-?M(\d+)(\+|Plus)?", dcore)
    return f"cortex-m{number[1]}{'plus' if number[2] else ''}" if number else dcore.lower()


def read_parts(text: str, where: str) -> tuple[PackPart, ...]:
    """Returns all parts of the pack, sorted by name."""
    try:
        package = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise BoardError(f"not a pack description: {error}", where) from error
    release = package.find("releases/release")
    version = release.get("version", "") if release is not None else ""
    pack = Pack(package.findtext("vendor", "").strip(), package.findtext("name", "").strip(), version)
    nothing = PackPart("", pack, {}, (), ())
    parts = [part for family in package.iterfind("devices/family") for part in _parts_in(family, nothing)]
    if not parts:
        raise BoardError("the pack describes no parts", where, "use a device family pack (DFP)")
    return tuple(sorted(parts, key=lambda part: part.name))


def _parts_in(node: ElementTree.Element, around: PackPart) -> Iterator[PackPart]:
    """Yields the part that this element describes, then the parts nested in it."""
    here = PackPart(
        name=node.get(_NAMES.get(node.tag, ""), ""),
        pack=around.pack,
        processors=_processors(node, around.processors),
        # inner elements first, because they override outer ones
        memories=(*(dict(memory.attrib) for memory in node.iterfind("memory")), *around.memories),
        algorithms=(*(dict(found.attrib) for found in node.iterfind("algorithm")), *around.algorithms),
    )
    if here.name:
        yield here
    for kind in _NESTED:
        for inner in node.iterfind(kind):
            yield from _parts_in(inner, here)


def _processors(
    node: ElementTree.Element, around: Mapping[str, Mapping[str, str]]
) -> Mapping[str, Mapping[str, str]]:
    """Returns attributes by processor name. Attributes of an unnamed processor apply to all."""
    found = {processor.get("Pname", ""): dict(processor.attrib) for processor in node.iterfind("processor")}
    shared = {**around.get("", {}), **found.get("", {})}
    names = [name for name in (*around, *found) if name] or [""]
    return {name: {**shared, **around.get(name, {}), **found.get(name, {})} for name in names}


def find_part(parts: tuple[PackPart, ...], name: str, where: str) -> PackPart:
    """Returns the part with this name, or the only one with this prefix."""
    wanted = name.upper()
    exact = [part for part in parts if part.name.upper() == wanted]
    found = exact or [part for part in parts if part.name.upper().startswith(wanted)]
    if not found:
        near = did_you_mean(wanted, [part.name for part in parts])
        raise BoardError(f'part "{name}" not found{near}', where)
    if len(found) > 1:
        raise BoardError(
            f'{len(found)} parts begin with "{name}"', where, ", ".join(part.name for part in found)
        )
    return found[0]


@dataclass(frozen=True, slots=True)
class Chip:
    """A processor of a part, in the terms of a board file."""

    part: PackPart
    core: Core
    features: frozenset[Feature]
    clock_hz: int
    regions: tuple[MemoryRegion, ...]
    algorithm: str  # of its first flash, or ""


def chip_of(part: PackPart, processor: str | None = None) -> Chip:
    """Returns the named processor, or the part's only one, as a chip. Raises BoardError."""
    name = _processor_name(part, processor)
    facts = part.processors[name]
    found = core_name(facts.get("Dcore", ""))
    if found not in core_names():
        raise BoardError(
            f"{part.name} has a {facts.get('Dcore', 'nameless core')}, which Solder does not know",
            str(part.pack),
            f"known: {', '.join(core_names())}",
        )
    core = load_core(found, str(part.pack))
    regions = _regions(part, name)
    for role in ("flash", "ram"):
        if not any(region.role == role for region in regions):
            raise BoardError(f"the pack names no {role} of {part.name}", str(part.pack))
    return Chip(
        part, core, _features(core, facts), _clock_hz(part, facts), regions, _algorithm(part, regions)
    )


def _processor_name(part: PackPart, wanted: str | None) -> str:
    if wanted is None and len(part.processors) == 1:
        return next(iter(part.processors))
    if wanted is not None and wanted in part.processors:
        return wanted
    raise BoardError(
        f"{part.name} has {len(part.processors)} processors"
        if wanted is None
        else f'{part.name} has no processor "{wanted}"{did_you_mean(wanted, part.processors)}',
        str(part.pack),
        f"--processor with one of {', '.join(part.processors)}",
    )


def _features(core: Core, facts: Mapping[str, str]) -> frozenset[Feature]:
    """Returns the features in the pack, plus those of every such core, which packs omit."""
    said = {
        Feature.DSP: facts.get("Ddsp") in _DSP,
        Feature.FPU: facts.get("Dfpu") in _FPU,
        Feature.MVE: facts.get("Dmve") in _MVE,
    }
    return core.has | core.can_have.intersection(feature for feature, has in said.items() if has)


def _clock_hz(part: PackPart, facts: Mapping[str, str]) -> int:
    clock_hz = _number(facts.get("Dclock", ""))
    if not clock_hz:
        raise BoardError(f"the pack names no clock of {part.name}", str(part.pack))
    return clock_hz


def _regions(part: PackPart, processor: str) -> tuple[MemoryRegion, ...]:
    """Returns the processor's memories, without aliases and others that overlap an earlier one."""
    regions: list[MemoryRegion] = []
    for memory in part.memories:
        region = _region(memory)
        if memory.get("Pname", processor) == processor and region and not _meets(region, regions):
            regions.append(region)
    return tuple(sorted(regions, key=lambda region: region.origin))


def _region(memory: Mapping[str, str]) -> MemoryRegion | None:
    """Converts a memory to a region; None for peripherals and empty memories."""
    name = memory.get("name") or memory.get("id", "")
    access = memory.get("access") or ("rx" if name.startswith("IROM") else "rw")
    size = _number(memory.get("size", ""))
    if "p" in access or not size:
        return None
    return MemoryRegion(
        name=re.sub(r"\W", "_", name),
        origin=_number(memory.get("start", "")),
        bytes=size,
        role="ram" if "w" in access else "flash",
        speed=0 if memory.get("default") in ("1", "true") or memory.get("startup") in ("1", "true") else 1,
    )


def _meets(region: MemoryRegion, others: list[MemoryRegion]) -> bool:
    return any(
        region.origin < other.origin + other.bytes and other.origin < region.origin + region.bytes
        for other in others
    )


def _algorithm(part: PackPart, regions: tuple[MemoryRegion, ...]) -> str:
    """Returns the algorithm for the program flash, or ""."""
    flash = min((r for r in regions if r.role == "flash"), key=lambda region: region.speed)
    names = [
        algorithm.get("name", "")
        for algorithm in part.algorithms
        if _number(algorithm.get("start", ""))
        <= flash.origin
        < _number(algorithm.get("start", "")) + _number(algorithm.get("size", ""))
    ]
    return names[0].replace("\\", "/") if names else ""


def _number(text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        return int(text) if text.isdecimal() else 0
