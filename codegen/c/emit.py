"""The C files of a model: Python decides the content, templates the layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np

from aot.errors import ModelError
from aot.ir.graph import Window
from aot.ir.types import Array, TensorType
from aot.wording import counted
from codegen.c.arenas import Arena, SavedStates, StateInfo, line_bytes
from codegen.c.constants import Constants, declaration, definition, lines_of, member
from codegen.c.dialect import Dialect
from codegen.c.kernel_library import KernelLibrary, called_helpers, collect_helpers
from codegen.c.layers import RunCode
from codegen.c.names import PUSH_ROW, PUSH_ROWS, RESET, RESTORE, RUN, SAVE, comment_text, string_text
from codegen.c.observe import Observation, observation_words
from codegen.c.order import OrderPart
from codegen.c.printer import LINE, Printer
from codegen.c.provenance import Need
from codegen.c.tree import Enumerator, Helper
from codegen.c.tree_walk import headers_of, helpers_of, walk
from codegen.isa.plain.scalar_math import parenthesised
from codegen.kernels.kernel import WORD
from codegen.lower.stages import STREAMED_ROW, Lowered, LoweredStage, Reading
from codegen.model import LayerCode, RowsRead, TensorInfo

if TYPE_CHECKING:
    from jinja2 import Environment

    from codegen.c.constants import WeightsLayout


CORES = "solder_cores"  # the files of models with layers on two cores


@dataclass(frozen=True)
class SourceParts:
    """The parts from which a model's C files are written."""

    name: str
    model_hash: str
    made: str  # the comment about the model and the compiler
    version: str  # of Solder
    needs: Sequence[Need]
    macs: int  # multiply-accumulate operations per run
    stack_bytes_estimate: int
    c_flags: tuple[str, ...]  # of the compiler for which the estimate is made
    dialect: Dialect
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    states: Sequence[StateInfo]
    window: Window | None  # None unless the model computes one hop of a window
    arenas: Sequence[Arena]
    arena_align: int
    library: KernelLibrary
    run: RunCode
    constants: Constants
    weights: WeightsLayout | None  # None unless weights are external
    observation: Observation | None = None  # None unless runs are observed
    callers: str = ""  # C functions through which tables call the kernels; empty without tables

    @property
    def tensors(self) -> tuple[TensorInfo, ...]:
        return (*self.inputs, *self.outputs)


def emit_sources(parts: SourceParts) -> Mapping[str, str]:
    """Returns file name -> text. Raises ModelError if a library has a file of the model's name."""
    name, common = parts.name, _common_context(parts)
    weights = {**common, **_weights_context(parts)}
    form = "weights" if parts.weights is None else "external"
    generated = {
        f"{name}.h": render("model.h.j2", common),
        f"{name}.c": render("model.c.j2", {**common, **_model_context(parts)}),
        f"{name}_weights.h": render(f"{form}.h.j2", weights),
        f"{name}_weights.c": render(f"{form}.c.j2", weights),
        f"{name}_describe.c": render("describe.c.j2", common),
    }
    if parts.run.halves:
        generated |= {f"{CORES}.h": render("cores.h.j2", {}), f"{CORES}.c": render("cores.c.j2", {})}
    for file in (file for library in parts.library.libraries for file in library.files):
        if generated.setdefault(file.name, file.text) != file.text:
            raise ModelError(
                f"two different files are called {file.name}",
                hint="rename the model file: the C files take its name",
            )
    return generated


def c_headers(parts: SourceParts) -> tuple[str, ...]:
    """Returns the headers that the model's files include, besides the model's and those for types.

    If a user's function calls math.h, its text may include it itself.
    """
    is_math = not _is_finite(parts.constants.arrays) or any(
        helper.library_calls for helper in parts.library.helpers.every
    )
    others = (library.c_headers for library in parts.library.libraries)
    return tuple(sorted(_included(parts).union({"math.h"} if is_math else (), *others)))


def _common_context(parts: SourceParts) -> Mapping[str, object]:
    name, arenas, run = parts.name, parts.arenas, parts.run
    return {
        "name": name,
        "prefix": name.upper(),
        "version": parts.version,
        "made": parts.made,
        "summary": _summary(parts),
        "symbols": _symbols(parts),
        **_arena_context(name, arenas),
        "arena_align": parts.arena_align,
        "has_attributes": parts.dialect.has_attributes,
        "constants_bytes": parts.constants.bytes,
        "inputs": [_tensor_context(t, arenas) for t in parts.inputs],
        "outputs": [_tensor_context(t, arenas) for t in parts.outputs],
        "tensors": [_tensor_context(t, arenas) for t in parts.tensors],
        "has_positions": not parts.run.stream and any(t.limits for t in parts.inputs),
        "has_placed": any(_is_placed(t, arenas) for t in parts.tensors),
        "hash": ", ".join(f"0x{parts.model_hash[i : i + 2]}" for i in range(0, 16, 2)),
        "layer_count": len(run.layers),
        "needs": parts.needs,
        "stream": run.stream,
        "window": parts.window,
        "state_bytes": sum(state.initial.nbytes for state in parts.states),
        "later_resets": [
            state.reset(parts.dialect)
            for state in (parts.states[parts.window.states :] if parts.window else ())
        ],
        "resets": [state.reset(parts.dialect) for state in parts.states],
        **_saved_states(parts),
        "line_arena_bytes": line_bytes(arenas, parts.tensors),
        "observed": parts.observation and observation_words(parts.observation, parts.dialect),
        **_weights_words(parts),
    }


def _saved_states(parts: SourceParts) -> Mapping[str, object]:
    """Returns the template variables of the functions that save and restore states."""
    saved = SavedStates(parts.states, parts.model_hash)
    head = saved.head if parts.states else b""
    arenas = [arena.name for arena in parts.arenas]
    return {
        "state_places": [
            (arenas.index(each.arena), each.arena_offset, each.initial.nbytes) for each in parts.states
        ],
        "saved_bytes": saved.size,
        "saved_head": [", ".join(map(str, head[n : n + 14])) for n in range(0, len(head), 14)],
        "saved_head_bytes": len(head),
        "saves": saved.statements(StateInfo.save) if parts.states else [],
        "restores": saved.statements(StateInfo.restore) if parts.states else [],
    }


def _weights_words(parts: SourceParts) -> Mapping[str, object]:
    place = f"(uintptr_t){parts.name}_weights_in_use & ({parts.name.upper()}_WEIGHTS_ALIGN - 1u)"
    return {
        "weights": parts.weights,
        "weights_misaligned": f" || ({place}) != 0" if parts.weights is not None else "",
    }


def _summary(parts: SourceParts) -> str:
    """Returns the first lines of a file header: the resources of the model."""
    text = (
        f"{parts.name}: {counted(len(parts.run.layers), 'layer')}, {counted(parts.macs, 'MAC')}, "
        f"{sum(arena.bytes for arena in parts.arenas):,} bytes of arena, "
        f"{parts.constants.bytes:,} bytes of constants, about {parts.stack_bytes_estimate:,} bytes of stack"
        f"{''.join(f' at {flag}' for flag in parts.c_flags if flag.startswith('-O'))}."
    )
    return "\n".join(wrap(text, LINE, initial_indent="/* ", subsequent_indent="   "))


def _symbols(parts: SourceParts) -> str:
    """Returns the line of a file header that lists the symbols visible to the linker."""
    name, is_streamed, has_states = parts.name, parts.run.stream is not None, bool(parts.states)
    functions = [f"{name}_{RUN}", *([f"{name}_{PUSH_ROW}"] if is_streamed else [])]
    functions += [f"{name}_{PUSH_ROWS}"] if parts.window is not None and not is_streamed else []
    functions += [f"{name}_{each}" for each in (RESET, SAVE, RESTORE)] if has_states else []
    functions += [f"{name}_observed", f"{name}_observe_ticks"] if parts.observation else []
    functions += [f"{name}_weights_in_use"] if parts.weights is not None else []
    functions += [f"{name}_kernels"] if parts.callers else []
    constants = f"the constants of {name}_weights.c" if parts.constants.arrays else ""
    every = [*functions, *([constants] if constants else []), f"{name}_model ({name}_describe.c, if linked)"]
    every += [f"the functions of {library.header.name}" for library in parts.library.libraries]
    text = f"Global symbols: {', '.join(every)}."
    return "\n".join(wrap(text, LINE, initial_indent="   ", subsequent_indent="   "))


def _model_context(parts: SourceParts) -> Mapping[str, object]:
    run, library, dialect = parts.run, parts.library, parts.dialect
    printer = Printer(dialect, library.helpers.names)
    return {
        "headers": [
            *(each.header.name for each in library.libraries),
            *([f"{CORES}.h"] if run.halves else []),
        ],
        "includes": sorted(_included(parts)),
        "helpers": library.helpers.texts(printer),
        "kernels": [printer.function(kernel.function) + "\n" for kernel in library.kernels],
        "fixed": [f"static {definition(name, array, dialect, '')}" for name, array in _fixed(parts).items()],
        "fills": collect_helpers(_fills(parts)).texts(printer),
        "accessors": [printer.function(accessor) for accessor in run.accessors],
        "layers": [printer.function(function) for function in run.functions],
        "numbers": run.numbers,
        "places": _places(run),
        "order": [_order_text(part, printer) for part in run.order.parts],
        "body": printer.statements(run.order.body, 1),
        "null_checks": _null_checks(parts),
        "callers": parts.callers,
    }


def _places(run: RunCode) -> Sequence[Enumerator]:
    """Returns the offsets of buffers, in the order of memory."""
    code = (*run.accessors, *run.functions)
    found = {node.name: node for node in walk(code) if isinstance(node, Enumerator)}
    return sorted(found.values(), key=lambda place: (place.value, place.name))


def _included(parts: SourceParts) -> set[str]:
    """Returns the headers that <model>.c includes, besides the model's and stddef.h."""
    library, dialect = parts.library, parts.dialect
    wanted = (
        (bool(parts.states), "string.h"),
        (parts.run.stream is not None, "stdbool.h"),
        (bool(dialect.constants_header and parts.states), dialect.constants_header),
        (not _is_finite(_fixed(parts)), "math.h"),
    )
    return {
        *library.helpers.includes,
        *(name for fill in _fills(parts) for name in fill.includes),
        *headers_of(tuple(kernel.function for kernel in library.kernels)),
        *(name for is_wanted, name in wanted if is_wanted),
    }


def _fills(parts: SourceParts) -> list[Helper]:
    """Returns the functions that fill rows and padding, which layers call but kernels do not."""
    called = helpers_of((*parts.run.layers, *parts.run.halves.values()))
    return sorted((helper for helper in called if isinstance(helper, Helper)), key=lambda each: each.name)


def _fixed(parts: SourceParts) -> Mapping[str, Array]:
    """Returns the constants that stay in the code if weights are external."""
    return parts.constants.fixed if parts.weights is not None else {}


def _order_text(part: OrderPart, printer: Printer) -> str:
    table = ["\n".join(printer.statements([part.table], 0))] if part.table is not None else []
    return "\n\n".join([*table, *map(printer.function, part.functions)])


def _weights_context(parts: SourceParts) -> Mapping[str, object]:
    constants, dialect = parts.constants, parts.dialect
    arrays, regions, aligns = constants.arrays, constants.regions, constants.aligns
    if parts.weights is not None:
        members = parts.weights.members
        return {
            "members": [member(each.name, each.array, dialect, each.align) for each in members],
            "values": [(each.name, lines_of(each.array)) for each in members],
            "is_finite": _is_finite({each.name: each.array for each in members}),
        }
    return {
        "declarations": [
            declaration(name, array, dialect, aligns.get(name, WORD))
            for name, array in {**constants.elsewhere, **arrays}.items()
        ],
        "definitions": [
            definition(name, array, dialect, regions.get(name, ""), aligns.get(name, WORD))
            for name, array in arrays.items()
        ],
        "has_regions": bool(regions),
        "is_finite": _is_finite(arrays),
    }


def _is_finite(arrays: Mapping[str, Array]) -> bool:
    return all(np.isfinite(array).all() for array in arrays.values())


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("codegen.c"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )


def render(template: str, context: Mapping[str, object]) -> str:
    """Renders a template of codegen.c."""
    text = _environment().get_template(template).render(context)
    return text.rstrip("\n") + "\n"


def _arena_context(model: str, arenas: Sequence[Arena]) -> Mapping[str, object]:
    """Returns the template variables that name, declare and check the arenas."""
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
        "says": comment_text(f"{tensor.name}: {_describe(kind)}"),
        "limits": tensor.limits,
        "lies_in": f"; its offset is in {arenas[tensor.arena].name}" if len(arenas) > 1 else "",
    }


def _is_placed(tensor: TensorInfo, arenas: Sequence[Arena]) -> bool:
    """Returns True if the tensor is in the arena; streamed inputs and the caller's tensors are not."""
    return tensor.arena_offset < arenas[tensor.arena].bytes


def _describe(kind: TensorType) -> str:
    return f"{kind.dtype.value}[{', '.join(str(d) for d in kind.shape)}]"


def _null_checks(parts: SourceParts) -> str:
    """Returns the condition that a pointer is null. A streamed input's rows are checked one by one."""
    is_streamed = parts.run.stream is not None
    pointers = [*([] if is_streamed else ["in"]), "out", *(arena.name for arena in parts.arenas)]
    pointers += [f"{parts.name}_weights_in_use"] if parts.weights is not None else []
    pointers += [] if is_streamed else [f"in->{t.c_name}" for t in parts.inputs]
    pointers += [f"out->{t.c_name}" for t in parts.outputs]
    return " || ".join(f"{pointer} == NULL" for pointer in pointers)


# The code of one layer: its loops as procs, and the C functions generated from them.


def layer_code(
    index: int, lowered: Lowered, library: KernelLibrary, run: RunCode, dialect: Dialect
) -> LayerCode:
    called = {call.name for call in library.calls[index]}
    kernels = [kernel.function for kernel in library.kernels if kernel.function.name in called]
    helpers = collect_helpers(helper for kernel in kernels for helper in called_helpers(kernel))
    printer = Printer(dialect, library.helpers.names)
    layer = run.layers[index]
    half = [run.halves[index]] if index in run.halves else []
    stage = lowered.stages[index]
    params = (param.name for param in stage.kernel.row_params)
    reads = zip(params, stage.reads, strict=True)
    return LayerCode(
        stage.kernel,
        stage.steps,
        {name: _rows_read(stage, reading, lowered) for name, reading in reads},
        replace(helpers, names=library.helpers.names).texts(printer),
        tuple(printer.function(kernel) for kernel in kernels),
        "\n\n".join(printer.function(function) for function in (*half, layer)),
        (*(kernel.name for kernel in kernels), layer.name),
    )


def _rows_read(stage: LoweredStage, reading: Reading, lowered: Lowered) -> RowsRead:
    if reading.tensor == STREAMED_ROW:  # the caller's row, in the format in which the stage stores it
        return RowsRead(stage.result.type, stage.result.format.row_elements, reading.fill)
    tensor = lowered.tensors[reading.tensor]
    rows = tensor.rows if stage.kernel.whole else 1
    return RowsRead(tensor.type, rows * (reading.view or tensor.format).row_elements, reading.fill)
