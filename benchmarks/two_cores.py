"""Two cores against one: models on the emulated SSE-200, their instructions, memory and outputs."""

from __future__ import annotations

from collections.abc import Iterator

from aot.errors import FiguresError
from benchmarks.shared import model_file
from codegen.job import import_model
from codegen.options import CompileOptions
from deploy.benching import BenchChoices, BoardCost, Modelled, measure_compiled
from deploy.compiling import Compiled, compile_for
from deploy.line import LineOptions
from deploy.verifying import verify_compiled
from platforms.board_files import load_board

BOARD = "mps2-an521"
MODELS = {
    "tiny_ic_resnet8_int8": "image classification",
    "tiny_kws_dscnn_int8": "keyword spotting",
    "tiny_vww_mbv1_int8": "visual wake words",
    "tiny_ad_fc_int8": "anomaly detection",
}
HEAD = """\
# Two cores

Printed by `python -m benchmarks two-cores`: the MLPerf Tiny models on both Cortex-M33 of mps2-an521, in QEMU, beside one.
Of both halves of a step the instructions of the longer one count, and the hand-over. Real memory, for which two cores
compete, is not in it. *Handing over* is what one step takes more than half of it, on average. Stack is that of both cores,
as reserved. *Same bits* says whether both give the reference's outputs in every bit.

| model | layers in halves | one core | two cores | times | handing over | arena | stack, one | stack, two | same bits |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---|
"""
