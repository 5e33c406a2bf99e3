"""The constants of a model as C arrays. Equal ones are stored once, under the name of their first user."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from aot.ir.types import Array, DType
from codegen.c.dialect import Dialect
from codegen.c.names import layer_labels
from codegen.c.states import StateInfo
from codegen.isa.plain.f32 import literals
from codegen.job import NOTHING_DEFINED
from codegen.kernels.kernel import WORD
from codegen.loops.constant_reads import place_tables
from codegen.lower.stages import LoweredStage

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
