"""The importers of TFLite operators, by the schema's names: the operators that are supported."""

from __future__ import annotations

from collections.abc import Mapping

from aot.extensions import OPS, OpenTable, entries_of
from aot.frontend.importer_table import importers_in
from aot.frontend.tflite.draft import Importer

# The files here that have importers.
FILES = (
    "arithmetic",
    "batch_matmul",
    "composed",
    "control_flow",
    "convolution",
    "detection",
    "frames",
    "gathering",
    "known",
    "lstm",
    "pooling",
    "reductions",
    "reversed_sequences",
    "shapes",
    "signals",
    "svdf",
    "transpose_conv",
    "unary",
    "variables",
)
IMPORTERS: Mapping[str, Importer] = OpenTable(importers_in(__name__, FILES), OPS, entries_of("TFLITE"))
