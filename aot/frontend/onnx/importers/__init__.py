"""The importers of ONNX operators, by domain and name; operators without one may be functions."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from aot.extensions import OPS, OpenTable, entries_of
from aot.frontend.importer_table import importers_in
from aot.frontend.onnx.operation import Importer

# The files here that have importers of ONNX's own operators.
FILES = (
    "bits.BITS_READ",
    "casting",
    "choosing",
    "control",
    "convolution",
    "determinants",
    "elementwise",
    "gathering",
    "grams",
    "indexing",
    "moving",
    "normalising",
    "optionals",
    "padding",
    "pooling",
    "products",
    "quantised",
    "quantising",
    "recurrent",
    "reductions",
    "regions",
    "resizing",
    "sampling",
    "scattering",
    "sequences",
    "spectra",
    "suppressing",
)
# Those of other domains.
FILES_OF_DOMAIN: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "ai.onnx.ml": ("classical", "support_vectors", "trees"),
        "ai.onnx.preview.training": ("optimising",),
        "com.microsoft": ("fused", "quantised.MICROSOFT"),
    }
)
IMPORTERS: Mapping[str, Importer] = MappingProxyType(importers_in(__name__, FILES))
# By the operator's domain.
OF_DOMAIN: Mapping[str, Mapping[str, Importer]] = MappingProxyType(
    {
        "": IMPORTERS,
        "ai.onnx": IMPORTERS,
        **{
            domain: MappingProxyType(importers_in(__name__, FILES_OF_DOMAIN[domain]))
            for domain in FILES_OF_DOMAIN
        },
    }
)
# What extensions add, by domain and operator: "com.example.Median".
ADDED: Mapping[str, Importer] = OpenTable({}, OPS, entries_of("ONNX"))
