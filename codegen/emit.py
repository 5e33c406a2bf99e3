"""The C files of a model: decisions from Python, layout from the templates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from aot.counted import counted
from aot.ir.types import TensorType
from codegen.arenas import Arena, line_bytes
from codegen.constants import Constants, declaration, definition
from codegen.fills import FILLS
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


@dataclass(frozen=True)
class SourceParts:
    """What the C files of a model are written from."""

    name: str
    model_hash: str
    made: str  # says of what by what
    needs: Sequence[Need]
    space: str  # the address space of C that constants are in
    inputs: Sequence[TensorInfo]
    outputs: Sequence[TensorInfo]
    states: Sequence[StateInfo]
    arenas: Sequence[Arena]
    arena_align: int
    library: KernelLibrary
    run: RunText
    constants: Constants

    @property
    def tensors(self) -> tuple[TensorInfo, ...]:
        return (*self.inputs, *self.outputs)


def emit_sources(parts: SourceParts) -> Mapping[str, str]:
    """File name -> text."""
    name, common = parts.name, _common_context(parts)
    weights = {**common, **_weights_context(parts)}
    return {
        f"{name}.h": _render("model.h.j2", common),
        f"{name}.c": _render("model.c.j2", {**common, **_model_context(parts)}),
        f"{name}_weights.h": _render("weights.h.j2", weights),
        f"{name}_weights.c": _render("weights.c.j2", weights),
        f"{name}_describe.c": _render("describe.c.j2", common),
    }


def _common_context(parts: SourceParts) -> Mapping[str, object]:
    name, arenas, run = parts.name, parts.arenas, parts.run
    return {
        "name": name,
        "prefix": name.upper(),
        "version": VERSION,
        "made": parts.made,
        "summary": (
            f"{counted(len(run.layers), 'layer')}, {sum(arena.bytes for arena in arenas)} bytes of arena, "
            f"{parts.constants.bytes} bytes of constants."
        ),
        **_arena_context(name, arenas),
        "arena_align": parts.arena_align,
        "constants_bytes": parts.constants.bytes,
        "inputs": [_tensor_context(t, arenas) for t in parts.inputs],
        "outputs": [_tensor_context(t, arenas) for t in parts.outputs],
        "tensors": [_tensor_context(t, arenas) for t in parts.tensors],
        "has_placed": any(_is_placed(t, arenas) for t in parts.tensors),
        "hash": ", ".join(f"0x{parts.model_hash[i : i + 2]}" for i in range(0, 16, 2)),
        "layer_count": len(run.layers),
        "needs": parts.needs,
        "stream": run.stream,
        "state_bytes": sum(state.initial.nbytes for state in parts.states),
        "resets": [state.reset(parts.space) for state in parts.states],
        "line_arena_bytes": line_bytes(arenas, parts.tensors),
    }


def _model_context(parts: SourceParts) -> Mapping[str, object]:
    run, library = parts.run, parts.library
    wanted = (
        ("fill_8" in run.fills or bool(parts.states), "string.h"),
        (run.stream is not None, "stdbool.h"),
        (bool(parts.space and parts.states), "avr/pgmspace.h"),
    )
    return {
        "includes": sorted({*library.includes, *(name for is_wanted, name in wanted if is_wanted)}),
        "helpers": library.helpers,
        "kernels": library.kernels,
        "fills": [FILLS[name] for name in run.fills],
        "accessors": run.accessors,
        "layers": run.layers,
        "tables": run.tables,
        "body": run.body,
        "null_checks": _null_checks(parts),
    }


def _weights_context(parts: SourceParts) -> Mapping[str, object]:
    arrays, regions, space = parts.constants.arrays, parts.constants.regions, parts.space
    return {
        "declarations": [declaration(name, array, space) for name, array in arrays.items()],
        "definitions": [
            definition(name, array, space, regions.get(name, "")) for name, array in arrays.items()
        ],
        "has_regions": bool(regions),
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


def _null_checks(parts: SourceParts) -> str:
    """Of all pointers but a streamed input's, which come one by one."""
    is_streamed = parts.run.stream is not None
    pointers = [*([] if is_streamed else ["in"]), "out", *(arena.name for arena in parts.arenas)]
    pointers += [] if is_streamed else [f"in->{t.c_name}" for t in parts.inputs]
    pointers += [f"out->{t.c_name}" for t in parts.outputs]
    return " || ".join(f"{pointer} == NULL" for pointer in pointers)
