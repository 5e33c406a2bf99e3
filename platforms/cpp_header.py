"""The C++ header of a model: a class around its C functions, with sizes and types checked by the compiler."""

from __future__ import annotations

from typing import Any

from aot.ir.types import DType
from codegen.c.names import comment_text
from codegen.model import TensorInfo
from platforms.arena_words import arena_words
from platforms.project import ProjectSource
from platforms.templates import filled

_TAKEN = frozenset(  # class names in the header
    ("Arena", "Inputs", "Outputs", "PlacedInputs", "Row", "Span", "Status", "Tensor", "WithArena")
)
_LIMITS = {  # of types that `nearest` rounds to
    DType.I8: ("INT8_MIN", "INT8_MAX"),
    DType.U8: ("0", "UINT8_MAX"),
    DType.I16: ("INT16_MIN", "INT16_MAX"),
}


def cpp_header(source: ProjectSource) -> str:
    """Returns the text of <model>.hpp."""
    return filled("plain", "model.hpp.jinja", **cpp_words(source))


def cpp_words(source: ProjectSource) -> dict[str, Any]:
    """Returns the template variables for programs that call the model in C++."""
    inputs, outputs = ([_tensor(source, each) for each in group] for group in (source.inputs, source.outputs))
    return {
        "name": source.name,
        "class_name": class_name(source.name),
        "macro": source.name.upper(),
        "tool": source.tool_version,
        **arena_words(source),
        "arena_members": ", ".join(f"{arena.name}_" for arena in source.arenas),
        "is_streamed": source.is_streamed,
        "keeps_state": source.keeps_state,
        "slides": source.slides,
        "counts_hops": source.slides and not source.is_streamed,  # push_rows does
        "inputs": inputs,
        "outputs": outputs,
        "has_placed_inputs": all(tensor["is_placed"] for tensor in inputs),
        "has_placed_outputs": all(tensor["is_placed"] for tensor in outputs),
    }


def class_name(word: str) -> str:
    """Returns the class of a model or tensor: "KwsV2_1" for "kws_v2_1", so that no two are equal."""
    first, *others = word.split("_")
    parts = (f"_{part}" if part[:1].isdigit() else part.capitalize() for part in others)
    name = first.capitalize() + "".join(parts)
    return f"{name}Model" if name in _TAKEN else name


def _tensor(source: ProjectSource, tensor: TensorInfo) -> dict[str, Any]:
    kind = tensor.type
    least, most = _LIMITS.get(kind.dtype, ("", ""))
    return {
        "c_name": tensor.c_name,
        "class_name": class_name(tensor.c_name),
        "variable": f"tensor_{tensor.c_name}",  # avoids collisions with the user's names
        "elements": kind.elements,
        "upper": f"{source.name}_{tensor.c_name}".upper(),
        "c_type": kind.dtype.c_name,
        "says": comment_text(f"{tensor.name}: {kind.dtype.value}{list(kind.shape)}"),
        "is_placed": tensor not in source.callers,
        "arena": source.arenas[tensor.arena].name,
        "is_quantized": kind.quant is not None and not kind.quant.is_per_channel,
        "least": least,
        "most": most,
    }
