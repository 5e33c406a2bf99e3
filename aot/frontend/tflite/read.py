"""A TFLite file's bytes become a graph: bounds first, then what nobody supports, then its subgraphs."""

from __future__ import annotations

from pathlib import PurePath

import tflite

from aot.errors import ModelError
from aot.frontend.tflite.draft import Draft
from aot.frontend.tflite.flatbuffer import check_flatbuffer
from aot.frontend.tflite.importers import IMPORTERS
from aot.frontend.tflite.layout import MODEL
from aot.frontend.tflite.model_file import CORRUPTED, ModelFile, Part
from aot.frontend.tflite.subgraphs import SubgraphReader
from aot.ir.graph import Graph

IDENTIFIER = b"TFL3"


def read_tflite(data: bytes, file_name: str, rounding: str = "tflm") -> Graph:
    """The model in a TFLite file; `rounding` is a mode of aot.ops.rounding. ModelError says what is wrong."""
    if len(data) < 8 or data[4:8] != IDENTIFIER:
        raise ModelError(
            "this is not a TFLite file: it has no TFL3 identifier at byte 4", file_name, CORRUPTED
        )
    check_flatbuffer(data, MODEL, file_name)
    file = ModelFile(tflite.Model.GetRootAs(data, 0), file_name, len(data))
    if file.model.SubgraphsLength() == 0:
        raise file.fail("the file holds no subgraph, so there is no model in it")
    # Subgraphs that the first does not call are other signatures: the first is what interpreters run.
    _refuse_unsupported_operators(file, file.called_parts())
    return _graph(file, rounding)


def _graph(file: ModelFile, rounding: str) -> Graph:
    draft, main = Draft(), file.part(0)
    reader = SubgraphReader(file, rounding)
    inputs, outputs = reader.read_main(draft, main)
    for name in inputs:
        if name in draft.constants:
            raise file.fail(f'the model\'s input "{name}" is a constant')
    for name in outputs:
        if name not in draft.made:
            raise file.fail(f'the model\'s output "{name}" is not computed by any operator')
    return draft.graph(PurePath(file.name).stem, inputs, outputs)


def _refuse_unsupported_operators(file: ModelFile, parts: list[Part]) -> None:
    """All of them at once, so that nobody meets them one by one."""
    nodes: dict[str, list[str]] = {}
    for part in parts:
        for number in range(part.operator_count):
            code = part.code(number)
            if code not in IMPORTERS:
                nodes.setdefault(code, []).append(part.place(number))
    if nodes:
        plural = "operators {} are" if len(nodes) > 1 else "operator {} is"
        raise ModelError(
            f"TFLite {plural.format(', '.join(sorted(nodes)))} not supported",
            "\n".join([file.name, *(f"{code}: {_listed(nodes[code])}" for code in sorted(nodes))]),
            f"supported: {', '.join(sorted(IMPORTERS))}   (docs/ops.md)",
        )


def _listed(places: list[str]) -> str:
    shown = ", ".join(places[:4])
    return f"{shown} and {len(places) - 4} more" if len(places) > 4 else shown
