"""The constants of a model as C arrays: equal ones once, each with the name of its first user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from aot.ir.graph import Array
from codegen.instr.real import literal
from codegen.lower import LoweredStage
from codegen.states import StateInfo

_C_TYPES = {
    "bool": "uint8_t",
    "float32": "float",
    "int16": "int16_t",
    "int32": "int32_t",
    "int64": "int64_t",
    "int8": "int8_t",
    "uint8": "uint8_t",
}
_LINE = 100
_WIDE = {str(-(2**63)): "INT64_MIN"}  # no constant of C is that small


@dataclass(frozen=True)
class Constants:
    arrays: Mapping[str, Array]  # C name -> contents
    names: tuple[Mapping[str, str], ...]  # one per stage: parameter -> C name

    @property
    def bytes(self) -> int:
        return sum(a.nbytes for a in self.arrays.values())


def collect_constants(
    model: str, stages: Sequence[LoweredStage], states: Sequence[StateInfo] = ()
) -> Constants:
    arrays: dict[str, Array] = {}
    known: dict[tuple[str, bytes], str] = {}
    names = []
    for index, stage in enumerate(stages):
        mine = {}
        for param, data in stage.kernel.constants.items():
            key = (data.dtype.name, data.tobytes())
            if key not in known:
                known[key] = f"{model}_layer{index}_{param}"
                arrays[known[key]] = data
            mine[param] = known[key]
        names.append(mine)
    for state in states:
        if state.constant is not None:
            arrays[state.constant] = state.initial.reshape(-1)
    return Constants(arrays, tuple(names))


def constant(space: str) -> str:
    """How the type of something in that address space of constants begins."""
    return f"const {space} " if space else "const "


def declaration(name: str, data: Array, space: str) -> str:
    return f"extern {constant(space)}{_C_TYPES[data.dtype.name]} {name}[{data.size}];"


def definition(name: str, data: Array, space: str) -> str:
    """Aligned to a word, because kernels read weights by words."""
    head = f"CONSTANT {constant(space)}{_C_TYPES[data.dtype.name]} {name}[{data.size}] = {{"
    return "\n".join([head, *_lines(data), "};"])


def _lines(data: Array) -> list[str]:
    """Numbers, as many to a line as fit."""
    lines, line = [], "   "
    for text in _numbers(data.reshape(-1)):
        if len(line) + len(text) + 2 > _LINE:
            lines.append(line)
            line = "   "
        line += f" {text},"
    return [*lines, line]


def _numbers(data: Array) -> list[str]:
    if data.dtype == np.float32:
        return [literal(value) for value in data.tolist()]
    numbers: list[str] = np.char.mod("%d", data).tolist()
    return [_WIDE.get(n, f"{n}LL") for n in numbers] if data.dtype == np.int64 else numbers
