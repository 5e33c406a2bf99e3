"""A model of half precision with its weights in 32 and in 16 bits: flash, instructions and outputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import deploy
from benchmarks.shared import model_file

MODEL = "onnx_match_dscnn_fp16"
BOARDS = {"mps2-an386": "Cortex-M4, FPU", "mps3-an547": "Cortex-M55, FPU"}
HEAD = """\
# Weights of half precision

Printed by `python -m benchmarks half-weights`: a keyword model in float16, compiled with weights in single
precision (like its sums) and with `--half-weights`. *Same bits* shows whether the outputs for a random
input are equal in every bit. If the loops allow it, an FPU loads two weights as a word, and converts each
with one instruction.

| core | weights | constants | code | instructions | same bits |
|---|---|---:|---:|---:|---|
"""


def half_rows() -> Iterator[str]:
    for board, core in BOARDS.items():
        facts = [_measured(board, half_weights) for half_weights in (False, True)]
        outputs = [_outputs(board, half_weights) for half_weights in (False, True)]
        same = all(np.array_equal(outputs[0][name], outputs[1][name]) for name in outputs[0])
        for name, each, told in (("single", facts[0], ""), ("half", facts[1], "yes" if same else "NO")):
            cells = (
                *(core, name, f"{each['constants_bytes']:,}", f"{each['code_bytes']:,}"),
                *(f"{each['instructions']:,}", told),
            )
            yield f"| {' | '.join(cells)} |\n"


def _measured(board: str, half_weights: bool) -> Any:
    return deploy.bench(model_file(MODEL), board, half_weights=half_weights).facts


def _outputs(board: str, half_weights: bool) -> Any:
    return deploy.run(model_file(MODEL), board=board, fill="random", half_weights=half_weights).outputs
