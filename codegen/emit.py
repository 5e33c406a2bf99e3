"""The C files of a model: decisions from Python, layout from the templates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from aot.ir.types import TensorType
from codegen.arenas import Arena, line_bytes
from codegen.constants import Constants, declaration, definition
from codegen.instr.scalar import parenthesised
from codegen.kernel_library import KernelLibrary
from codegen.layers import RunText
from codegen.model import TensorInfo
from codegen.names import comment_text, string_text
from codegen.provenance import Need
from codegen.states import StateInfo
from codegen.version import VERSION

if TYPE_CHECKING:
    from jinja2 import Environment


def emit_sources(
    name: str,
    model_hash: str,
    inputs: Sequence[TensorInfo],
    outputs: Sequence[TensorInfo],
    states: Sequence[StateInfo],
    arenas: Sequence[Arena],
    arena_align: int,
    library: KernelLibrary,
    run: RunText,
    constants: Constants,
    space: str,
    made: str,
    needed: Sequence[Need],
) -> Mapping[str, str]:
    """File name -> text. `space` is the address space of C that constants are in, `made` says of what."""
    common = {
        "name": name,
        "prefix": name.upper(),
        "version": VERSION,
        "made": made,
        "summary": (
            f"{len(run.layers)} layers, {sum(arena.bytes for arena in arenas)} bytes of arena, "
            f"{constants.bytes} bytes of constants."
        ),
        **_arena_context(name, arenas),
        "arena_align": arena_align,
        "constants_bytes": constants.bytes,
        "inputs": [_tensor_context(t, arenas) for t in inputs],
        "outputs": [_tensor_context(t, arenas) for t in outputs],
        "tensors": [_tensor_context(t, arenas) for t in (*inputs, *outputs)],
        "has_placed": any(_is_placed(t, arenas) for t in (*inputs, *outputs)),
        "hash": ", ".join(f"0x{model_hash[i : i + 2]}" for i in range(0, 16, 2)),
        "layer_count": len(run.layers),
        "needs": needed,
        "stream": run.stream,
        "state_bytes": sum(state.initial.nbytes for state in states),
        "resets": [state.reset(space) for state in states],
        "line_arena_bytes": line_bytes(arenas, (*inputs, *outputs)),
    }
    wanted = (
        ("fill_8" in run.fills or bool(states), "string.h"),
        (run.stream is not None, "stdbool.h"),
        (bool(space and states), "avr/pgmspace.h"),
    )
    includes = sorted({*library.includes, *(name for is_wanted, name in wanted if is_wanted)})
    model = {
        "includes": includes,
        "helpers": library.helpers,
        "kernels": library.kernels,
        "fills": [FILLS[name] for name in run.fills],
        "accessors": run.accessors,
        "layers": run.layers,
        "tables": run.tables,
        "body": run.body,
        "null_checks": _null_checks(
            () if run.stream is not None else inputs, outputs, arenas, run.stream is None
        ),
    }
    weights = {
        "declarations": [declaration(n, a, space) for n, a in constants.arrays.items()],
        "definitions": [
            definition(n, a, space, constants.regions.get(n, "")) for n, a in constants.arrays.items()
        ],
        "has_regions": bool(constants.regions),
    }
    return {
        f"{name}.h": _render("model.h.j2", common),
        f"{name}.c": _render("model.c.j2", {**common, **model}),
        f"{name}_weights.h": _render("weights.h.j2", {**common, **weights}),
        f"{name}_weights.c": _render("weights.c.j2", {**common, **weights}),
        f"{name}_describe.c": _render("describe.c.j2", common),
    }


_FILLED = {8: "int8_t", 16: "int16_t", 32: "float"}


def _fill_between(bits: int, c_type: str) -> str:
    return f"""\
/* The margins that planes share: `elements` after each plane, planes `step` apart. */
static inline void fill_between_{bits}(
    {c_type} *row, uint32_t planes, uint32_t step, uint32_t elements, {c_type} value)
{{
    for ({c_type} *const end = row + planes * step; row != end; row += step) {{
        for (uint32_t i = 0; i < elements; ++i) {{
            row[i] = value;
        }}
    }}
}}
"""


FILLS = {
    "fill_8": """\
static inline void fill_8(int8_t *row, uint32_t elements, int8_t value)
{
    memset(row, value, elements);
}
""",
    "fill_16": """\
static inline void fill_16(int16_t *row, uint32_t elements, int16_t value)
{
    for (uint32_t i = 0; i < elements; ++i) {
        row[i] = value;
    }
}
""",
    "fill_32": """\
static inline void fill_32(float *row, uint32_t elements, float value)
{
    for (uint32_t i = 0; i < elements; ++i) {
        row[i] = value;
    }
}
""",
    **{f"fill_between_{bits}": _fill_between(bits, c_type) for bits, c_type in _FILLED.items()},
}


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("codegen"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )


def _render(template: str, context: Mapping[str, object]) -> str:
    text = _environment().get_template(template).render(context)
    return text.rstrip("\n") + "\n"


def _arena_context(model: str, arenas: Sequence[Arena]) -> Mapping[str, object]:
    """How the memories are named, taken and checked."""
    pointers = [f"(uintptr_t){arena.name}" for arena in arenas]
    together = pointers[0] if len(arenas) == 1 else f"({' | '.join(pointers)})"
    macros = [f"{model}_{arena.name}_BYTES".upper() for arena in arenas]
    return {
        "arenas": [
            {"name": arena.name, "macro": macro, "bytes": arena.bytes}
            for arena, macro in zip(arenas, macros, strict=True)
        ],
        "arena_macros": " and ".join(macros),
        "arena_parameters": ", ".join(f"void *{arena.name}" for arena in arenas),
        "arena_values": ", ".join(f"arenas[{number}]" for number in range(len(arenas))),
        "arena_names": ", ".join(arena.name for arena in arenas),
        "arena_nulls": " || ".join(f"{arena.name} == NULL" for arena in arenas),
        "is_misaligned": f"({together} & ({model.upper()}_ARENA_ALIGN - 1u)) != 0",
    }


def _tensor_context(tensor: TensorInfo, arenas: Sequence[Arena]) -> Mapping[str, object]:
    kind = tensor.type
    quantised = kind.quant is not None and not kind.quant.is_per_channel
    return {
        "name": string_text(tensor.name),
        "c_name": tensor.c_name,
        "upper": tensor.c_name.upper(),
        "c_type": kind.dtype.c_name,
        "dtype": f"SOLDER_{kind.dtype.name}",
        "shape": ", ".join(str(d) for d in kind.shape) or "1",
        "rank": kind.rank,
        "elements": kind.elements,
        "arena": tensor.arena,
        "offset": f"{tensor.arena_offset}",
        "is_placed": _is_placed(tensor, arenas),
        "bytes": kind.bytes,
        "quantised": quantised,
        "scale": f"{kind.quant.scale!r}f" if quantised and kind.quant is not None else "",
        "zero_point": parenthesised(kind.quant.zero_point) if quantised and kind.quant is not None else "",
        "says": comment_text(f"{tensor.name}: {_said(kind)}"),
        "lies_in": f"; its offset is in {arenas[tensor.arena].name}" if len(arenas) > 1 else "",
    }


def _is_placed(tensor: TensorInfo, arenas: Sequence[Arena]) -> bool:
    """A streamed input has no place in the arena, nor has what is left to the caller."""
    return tensor.arena_offset < arenas[tensor.arena].bytes


def _said(kind: TensorType) -> str:
    return f"{kind.dtype.value}[{', '.join(str(d) for d in kind.shape)}]"


def _null_checks(
    inputs: Sequence[TensorInfo], outputs: Sequence[TensorInfo], arenas: Sequence[Arena], has_in: bool
) -> str:
    pointers = [*(["in"] if has_in else []), "out", *(arena.name for arena in arenas)]
    pointers += [f"in->{t.c_name}" for t in inputs] + [f"out->{t.c_name}" for t in outputs]
    return " || ".join(f"{p} == NULL" for p in pointers)
