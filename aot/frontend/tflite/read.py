"""Reads a TFLite file's bytes as a graph: checks bounds, then unsupported operators, then reads subgraphs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

import tflite

from aot.errors import BrokenFileError, ModelError, UnsupportedError
from aot.frontend.tflite.draft import FOR_RECURRENT_LAYERS, TfliteDraft
from aot.frontend.tflite.flatbuffer import MODEL, check_flatbuffer
from aot.frontend.tflite.importers import IMPORTERS
from aot.frontend.tflite.model_file import CORRUPTED, ModelFile, Subgraph
from aot.frontend.tflite.subgraphs import SubgraphReader
from aot.frontend.tflite.tensors import has_blocks
from aot.ir.graph import Graph

IDENTIFIER = b"TFL3"


def read_tflite(data: bytes, file_name: str, rounding: str = "tflm") -> Graph:
    """Returns the model in a TFLite file; `rounding` is a mode of aot.ops.rounding. Raises ModelError."""
    file = _checked(data, file_name)
    draft, reader = TfliteDraft(rounding=rounding), SubgraphReader(file)
    # Subgraphs that the first one does not call are other signatures; interpreters run the first.
    unsupported = _unsupported_operators(file.called_parts())
    try:
        inputs, outputs = reader.read_main(draft, file.part(0))
    except ModelError:
        if not unsupported:
            raise
    _refuse(file, unsupported, list(reader.refused.values()))
    return _graph(file, draft, inputs, outputs)


def operators_of_tflite(data: bytes, file_name: str) -> Iterator[tuple[str, bool]]:
    """Yields the name of each operator in a run, and whether it is supported. Raises ModelError."""
    for part in _checked(data, file_name).called_parts():
        codes = map(part.code, range(part.operator_count))
        yield from ((code, code in IMPORTERS) for code in codes)


# operators at the edges of an int8 model with unsigned inputs and outputs
_EDGES = ("CAST", "DEQUANTIZE", "QUANTIZE", "RESHAPE")


def computes_unsigned(data: bytes, file_name: str) -> bool:
    """Returns whether operators use quantized unsigned bytes, for which TFLite Micro has no kernels."""
    for part in _checked(data, file_name).called_parts():
        for number in range(part.operator_count):
            if part.code(number) not in _EDGES and any(map(part.is_unsigned, part.inputs_of(number))):
                return True
    return False


def has_weights_in_blocks(data: bytes, file_name: str) -> bool:
    """Returns whether a constant of the model has a scale for each block of some elements."""
    parts = _checked(data, file_name).called_parts()
    return any(has_blocks(part.table.Tensors(index)) for part in parts for index in part.used_tensors())


def _checked(data: bytes, file_name: str) -> ModelFile:
    """Returns the file after checking all its offsets. Raises BrokenFileError."""
    if len(data) < 8 or data[4:8] != IDENTIFIER:
        raise BrokenFileError(
            "this is not a TFLite file: it has no TFL3 identifier at byte 4", file_name, CORRUPTED
        )
    check_flatbuffer(data, MODEL, file_name)
    file = ModelFile(tflite.Model.GetRootAs(data, 0), file_name, len(data))
    if file.model.SubgraphsLength() == 0:
        raise file.fail("the file holds no subgraph, so there is no model in it")
    return file


def _graph(file: ModelFile, draft: TfliteDraft, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> Graph:
    for name in inputs:
        if name in draft.constants:
            raise file.fail(f'the model\'s input "{name}" is a constant')
        if name not in draft.types:
            raise file.fail(f'the model\'s input "{name}" is the handle of a variable, not a tensor')
    for name in outputs:
        if name in draft.without_rows:
            raise file.fail(f'the model\'s output "{name}" is an empty list', FOR_RECURRENT_LAYERS)
        if name not in draft.made:
            raise file.fail(f'the model\'s output "{name}" is not computed by any operator')
    return draft.graph(PurePath(file.name).stem, inputs, outputs)


def _unsupported_operators(parts: list[Subgraph]) -> dict[str, list[str]]:
    """Maps unsupported operator codes to their positions."""
    nodes: dict[str, list[str]] = {}
    for part in parts:
        for number in range(part.operator_count):
            code = part.code(number)
            if code not in IMPORTERS:
                nodes.setdefault(code, []).append(part.place(number))
    return nodes


def _refuse(file: ModelFile, unsupported: dict[str, list[str]], refused: list[ModelError]) -> None:
    """Raises one error for all unsupported operators, so that users need not find them one by one."""
    if not unsupported and len(refused) == 1:
        raise refused[0]
    told = [f"{error.where.splitlines()[0]}: {error.what}\n  {error.hint}".rstrip() for error in refused]
    if unsupported:
        plural = "operators {} are" if len(unsupported) > 1 else "operator {} is"
        listed = [f"{code}{_why(code)}: {_listed(unsupported[code])}" for code in sorted(unsupported)]
        raise UnsupportedError(
            f"TFLite {plural.format(', '.join(sorted(unsupported)))} not supported",
            "\n".join([file.name, *listed, *told]),
            f"see the {len(IMPORTERS)} supported operators: deploy ops   (deploy docs ops)",
        )
    if refused:
        raise UnsupportedError(
            f"{len(refused)} operators cannot be compiled",
            "\n".join([file.name, *told]),
            "deploy docs ops lists what each operator supports",
        )


# Well-known custom operators: prefix of the name, and advice. The first match is used.
_WHY = {
    "CUSTOM FlexTensorList": f"a Keras recurrent layer without a fixed batch,  {FOR_RECURRENT_LAYERS}",
    "CUSTOM Flex": "a TensorFlow kernel, convert the model without SELECT_TF_OPS",
    "CUSTOM Signal": "of an audio front end, compute the features in the application",
    "CUSTOM edgetpu": "compiled for an Edge TPU, give the file of the same name without _edgetpu",
    "CUSTOM ethos-u": "commands for an Ethos-U, give the model that Vela compiled and --accelerator ethos-u",
}


def _why(code: str) -> str:
    return next((f", {text}" for beginning, text in _WHY.items() if code.startswith(beginning)), "")


def _listed(places: list[str]) -> str:
    shown = ", ".join(places[:4])
    return f"{shown} and {len(places) - 4} more" if len(places) > 4 else shown
