"""Generates the C header of the models, and the tables of the docs page, from the table of instructions."""

from __future__ import annotations

from collections.abc import Iterator

from extensions.gemm_npu.encoding import (
    ALU_OPERATIONS,
    FIELDS,
    MEMORY_NAMES,
    MICRO_FIELDS,
    OPERATIONS,
    WORDS,
    Field,
)
from extensions.gemm_npu.machine import LANES, MEMORIES

_FIELD = """\
static inline {type} gemm_npu_{name}(const uint32_t *words)
{{
    return {value};
}}
"""


def c_header() -> str:
    """Returns the header: constants, and a function per field that extracts it from an instruction."""
    enums = (
        ("GEMM_NPU_", OPERATIONS),
        ("GEMM_NPU_TO_", MEMORY_NAMES),
        ("GEMM_NPU_ALU_", ALU_OPERATIONS),
    )
    sizes = [f"    GEMM_NPU_{name}_ENTRIES = {memory.entries}" for name, memory in MEMORIES.items()]
    lines = [
        "/* The instructions of the device: where each field lies, and the sizes of the memories. */",
        "#ifndef GEMM_NPU_ISA_H",
        "#define GEMM_NPU_ISA_H",
        "",
        "#include <stdint.h>",
        "",
        f"enum {{ GEMM_NPU_WORDS = {WORDS}, GEMM_NPU_LANES = {LANES} }};",
        "enum {\n" + ",\n".join(sizes) + "\n};",
        *(f"enum {{ {', '.join(prefix + name for name in names)} }};" for prefix, names in enums),
        "",
    ]
    functions = [_function(each, each.name) for each in FIELDS]
    functions += [_function(each, f"micro_{each.name}") for each in MICRO_FIELDS]
    return "\n".join([*lines, "\n".join(functions), "#endif", ""])


def _function(place: Field, name: str) -> str:
    taken = f"words[{place.word}]"
    if place.low:
        taken += f" >> {place.low}"
    if place.low + place.bits < 32:
        taken += f" & {(1 << place.bits) - 1:#x}u"
    if not place.signed:
        return _FIELD.format(type="uint32_t", name=name, value=taken)
    if place.bits == 32:
        return _FIELD.format(type="int32_t", name=name, value=f"(int32_t)({taken})")
    half = 1 << place.bits - 1
    return _FIELD.format(type="int32_t", name=name, value=f"(int32_t)(({taken}) ^ {half:#x}u) - {half}")


def page_tables() -> str:
    """Returns the docs tables: the fields of each operation and of a micro-operation."""
    parts = [_table(each, (f for f in FIELDS if each in f.of)) for each in OPERATIONS]
    return "\n".join([*parts, _table("A micro-operation", iter(MICRO_FIELDS))])


def _table(title: str, fields: Iterator[Field]) -> str:
    rows = "".join(
        f"| `{each.name}` | {each.word} | {_bits(each)} | {each.says}{_values(each)} |\n" for each in fields
    )
    return f"**{title}**\n\n| field | word | bits | meaning |\n|---|---:|---:|---|\n{rows}"


def _bits(place: Field) -> str:
    return f"{place.low}" if place.bits == 1 else f"{place.low + place.bits - 1}:{place.low}"


def _values(place: Field) -> str:
    if not place.names:
        return ", signed" if place.signed else ""
    return ": " + ", ".join(f"{number} {name}" for number, name in enumerate(place.names))
