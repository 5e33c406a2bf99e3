"""The constants of a model as C arrays. Equal ones are stored once, under the name of their first user."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from aot.errors import InputError
from aot.ir.types import Array, DType
from aot.target import Target
from codegen.c.arenas import StateInfo
from codegen.c.dialect import Dialect
from codegen.c.names import layer_labels
from codegen.isa.plain.f32 import literals
from codegen.job import NOTHING_DEFINED
from codegen.kernels.kernel import WORD
from codegen.loops.constant_reads import place_tables
from codegen.lower.stages import LoweredStage
from codegen.options import CDialect, CompileOptions

_C_TYPES = {dtype.numpy.name: dtype.c_name for dtype in DType}
_SUFFIXES = {"int64": "LL", "uint32": "u", "uint64": "ULL"}
_LINE, _INDENT, _BETWEEN = 100, "   ", ", "
_SMALL = [str(n) for n in (*range(128), *range(-128, 0))]  # 8-bit integers; negative ones index from the end
_MEMBER_OF = "run->weights->"
_WIDE = {str(-(2**63)): "INT64_MIN"}  # no constant of C is that small


@dataclass(frozen=True)
class Constants:
    """Filled by a ConstantCollector."""

    arrays: dict[str, Array] = field(default_factory=dict)  # C name -> contents
    names: list[Mapping[str, str]] = field(default_factory=list)  # of each stage: parameter -> array in C
    regions: dict[str, str] = field(default_factory=dict)  # C name -> region, if it is not the code's
    outside: dict[tuple[str, int], str] = field(default_factory=dict)  # (type, value) -> C name of its row
    aligns: dict[str, int] = field(default_factory=dict)  # C name -> alignment above 4 bytes
    external: set[str] = field(default_factory=set)  # arrays whose address the program chooses
    elsewhere: dict[str, Array] = field(default_factory=dict)  # arrays defined in other models' files

    @property
    def bytes(self) -> int:
        return sum(a.nbytes for a in self.arrays.values())

    @property
    def bytes_elsewhere(self) -> int:
        """Returns the bytes of constants that another model in the firmware also has."""
        return sum(array.nbytes for array in self.elsewhere.values())

    @property
    def fixed(self) -> Mapping[str, Array]:
        """The arrays that are not external."""
        return {name: array for name, array in self.arrays.items() if name not in self.external}

    @property
    def bytes_in(self) -> Mapping[str, int]:
        """Returns bytes by region, for constants outside of the code's region."""
        found: Counter[str] = Counter()
        for name, region in self.regions.items():
            found[region] += self.arrays[name].nbytes
        return dict(sorted(found.items()))


def collect_constants(
    model: str, stages: Sequence[LoweredStage], regions: Sequence[str] = (), external: bool = False
) -> Constants:
    """Collects the C arrays of stages alone. See ConstantCollector."""
    collector = ConstantCollector(model, layer_labels(stages), external)
    collector.add_stages(stages, regions)
    return collector.found


@dataclass
class ConstantCollector:
    """Assigns a name to each array at its first use.

    If `external`, each layer has separate arrays: equal ones may differ after another training. Arrays that
    control where a kernel reads stay with the code, so that no weights can change its accesses.
    """

    model: str
    labels: Sequence[str]  # of the layers
    external: bool = False
    # Constants of other models in the firmware; equal ones are reused.
    defined: Mapping[str, Array] = field(default_factory=lambda: NOTHING_DEFINED)
    found: Constants = field(default_factory=Constants)
    known: dict[tuple[object, ...], str] = field(default_factory=dict)

    def add_stages(self, stages: Sequence[LoweredStage], regions: Sequence[str] = ()) -> None:
        """Adds the constants of all stages; `regions` has the memory of each stage's, "" is the code's."""
        for index, stage in enumerate(stages):
            self._add_stage(index, stage, regions[index] if regions else "")

    @cached_property
    def _theirs(self) -> Mapping[tuple[object, ...], str]:
        """Returns the names of constants that other models define, by their contents."""
        return {} if self.external else {_contents(array): name for name, array in self.defined.items()}

    def _add_stage(self, index: int, stage: LoweredStage, region: str) -> None:
        kernel = stage.kernel
        stays = place_tables(kernel.procs) if self.external else frozenset(kernel.constants)
        lies_anywhere = kernel.demand.align <= WORD and not region  # so another model's array can replace it
        mine = {}
        for param, data in kernel.constants.items():
            key: tuple[object, ...] = (index, param) if self.external else _contents(data)
            if lies_anywhere and key in self._theirs:
                mine[param] = self._theirs[key]
                self.found.elsewhere[self._theirs[key]] = data
                continue
            if key not in self.known:
                self._add(key, self._free_name(index, param, param in stays), data, region)
            name = self.known[key]
            if kernel.demand.align > WORD:
                self.found.aligns[name] = max(self.found.aligns.get(name, WORD), kernel.demand.align)
            mine[param] = name if param in stays else f"{_MEMBER_OF}{name}"
            if param not in stays:
                self.found.external.add(name)
        self.found.names.append(mine)

    def _free_name(self, index: int, param: str, stays: bool) -> str:
        """Returns the layer's name and the parameter's, numbered if another array has that name."""
        own = f"{self.labels[index]}_{param}"
        name = base = f"{self.model}_{own}" if stays else own
        count = 2
        while name in self.found.arrays:
            name, count = f"{base}_{count}", count + 1
        return name

    def _add(self, key: tuple[object, ...], name: str, data: Array, region: str) -> None:
        self.known[key] = name
        self.found.arrays[name] = data
        if region:
            self.found.regions[name] = region

    def add_outside_rows(self, rows: Mapping[tuple[DType, int], int]) -> None:
        """Adds rows outside of images: type and value of their elements -> how many elements layers read."""
        for (dtype, value), elements in rows.items():
            name = f"{self.model}_row_of_{value}_{dtype.value}".replace("-", "minus_")
            self.found.arrays[name] = np.full(elements, value, dtype.numpy)
            self.found.outside[dtype.c_name, value] = name

    def add_states(self, states: Sequence[StateInfo]) -> None:
        for state in states:
            if state.constant is not None:
                self.found.arrays[state.constant] = state.initial.reshape(-1)


def _contents(data: Array) -> tuple[object, ...]:
    return data.dtype.name, data.tobytes()


def declaration(name: str, data: Array, dialect: Dialect, align: int = WORD) -> str:
    """Returns the declaration of a constant, with the alignment of its definition.

    The x86-64 ABI promises 16 bytes for arrays of this size; clang would use aligned vector loads on an array
    that is aligned to four bytes.
    """
    return f"extern CONSTANT{_more(align, dialect)} {_typed(name, data, dialect)};"


def definition(name: str, data: Array, dialect: Dialect, region: str, align: int = WORD) -> str:
    """Returns the definition, aligned to at least 4 bytes because kernels load weights in 32-bit units."""
    place = f"CONSTANT_IN({region})" if region else "CONSTANT"
    head = f"{place}{_more(align, dialect)} {_typed(name, data, dialect)} = {{"
    return "\n".join([head, *lines_of(data), "};"])


def member(name: str, data: Array, dialect: Dialect, align: int) -> str:
    """Returns the array as a member of a struct. The alignment makes its layout the same on all compilers."""
    return f"{_C_TYPES[data.dtype.name]} {name}[{data.size}]{dialect.aligned(align)};"


def _more(align: int, dialect: Dialect) -> str:
    """Returns the attribute for an alignment above 4 bytes."""
    return dialect.aligned(align) if align > WORD else ""


def _typed(name: str, data: Array, dialect: Dialect) -> str:
    return f"{dialect.constant}{_C_TYPES[data.dtype.name]} {name}[{data.size}]"


def lines_of(data: Array) -> list[str]:
    """Returns numbers, as many per line as fit."""
    text = ", ".join(_numbers(data.reshape(-1)))
    room = _LINE - len(_INDENT) - len(" ,")
    lines, first = [], 0
    while len(text) - first > room:
        end = text.rfind(_BETWEEN, first, first + room + len(_BETWEEN))
        if end < 0:
            end = text.find(_BETWEEN, first)
        if end < 0:
            break
        lines.append(f"{_INDENT} {text[first:end]},")
        first = end + len(_BETWEEN)
    return [*lines, f"{_INDENT} {text[first:]},"] if text else [_INDENT]


def _numbers(data: Array) -> list[str]:
    if data.dtype == np.float32:
        return literals(data)
    to_text = _SMALL.__getitem__ if data.dtype == np.int8 else "%d".__mod__
    numbers = list(map(to_text, data.tolist()))
    suffix = _SUFFIXES.get(data.dtype.name, "")
    return [_WIDE.get(n, f"{n}{suffix}") for n in numbers] if suffix else numbers


# Rejects placements and alignments of constants that standard C cannot express.


_HINT = "omit --dialect strict"


def require_standard(constants: Constants, target: Target) -> None:
    """Raises InputError if the constants need language extensions beyond C99."""
    if target.constant_space:
        raise InputError(
            f"--dialect strict: standard C cannot place constants in {target.constant_space}, where "
            f"{target.core} keeps them",
            hint=_HINT,
        )
    if constants.regions:
        region = next(iter(constants.regions.values()))
        raise InputError(
            f"--dialect strict: standard C cannot place constants in {region}",
            hint=f"{_HINT}, or --constants",
        )
    if constants.aligns:
        name, bytes_ = next(iter(constants.aligns.items()))
        raise InputError(
            f"--dialect strict: standard C cannot align constants to {bytes_} bytes, as {name} needs",
            hint=f"{_HINT}, or --accelerator",
        )


# Weights at an address that the program chooses: one struct with the same layout on every compiler.
#
# The structure is a hash of all C code of a model except these bytes and comments, independent of the user's
# names. Code accepts the weights of any training with the same structure.


_DIGITS = 22
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True)
class Member:
    """An array of the struct."""

    name: str
    array: Array
    align: int
    offset: int


@dataclass(frozen=True)
class WeightsLayout:
    members: tuple[Member, ...]

    @property
    def align(self) -> int:
        return max(member.align for member in self.members)

    @property
    def size(self) -> int:
        last = self.members[-1]
        return _up(last.offset + last.array.nbytes, self.align)

    @property
    def packed(self) -> bytes:
        data = bytearray(self.size)
        for each in self.members:
            elements = each.array.astype(each.array.dtype.newbyteorder("<")).tobytes()
            data[each.offset : each.offset + len(elements)] = elements
        return bytes(data)


def layout_of(constants: Constants) -> WeightsLayout:
    """Returns the offsets of all external weights. Raises InputError if the model has none."""
    members = tuple(_placed(constants))
    if not members:
        raise InputError("the model has no weights that could be external", hint="omit --weights external")
    return WeightsLayout(members)


def _placed(constants: Constants) -> Iterator[Member]:
    end = 0
    for name, array in constants.arrays.items():
        if name in constants.external:
            align = max(constants.aligns.get(name, WORD), array.itemsize)
            place = _up(end, align)
            yield Member(name, array, align, place)
            end = place + array.nbytes


def _up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple


def structure_of(sources: Mapping[str, str], model: str) -> str:
    """Returns the hash of generated C code except for its comments and the weights of `model`."""
    digest = hashlib.sha256()
    for name, text in sorted(sources.items()):
        if name != f"{model}_weights.c":
            digest.update(f"{name}\0{_COMMENT.sub('', text)}\0".encode())
    return digest.hexdigest()[:_DIGITS]


def require_possible(options: CompileOptions, constant_space: str) -> None:
    """Raises InputError if weights cannot be external."""
    for is_so, what in (
        (bool(constant_space), f"constants of this core must be in {constant_space or 'flash'}"),
        (options.dialect is CDialect.STRICT, "standard C cannot align them"),
        (bool(options.constants), "--constants already places them"),
        (options.place, "--place moves some of them to RAM"),
        (bool(options.accelerators), "accelerators use their own weight formats"),
    ):
        if is_so:
            raise InputError(f"--weights external is not possible: {what}", hint="omit --weights external")
