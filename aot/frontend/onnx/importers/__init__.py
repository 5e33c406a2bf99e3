"""The importers of ONNX operators, by domain and name; operators without one may be functions."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from aot.extensions import OPS, OpenTable, entries_of
from aot.frontend.onnx.importers.bits import BITS_READ
from aot.frontend.onnx.importers.casting import CASTING
from aot.frontend.onnx.importers.choosing import CHOOSING
from aot.frontend.onnx.importers.classical import CLASSICAL
from aot.frontend.onnx.importers.control import CONTROL
from aot.frontend.onnx.importers.convolution import CONVOLUTION
from aot.frontend.onnx.importers.determinants import DETERMINANTS
from aot.frontend.onnx.importers.elementwise import ELEMENTWISE
from aot.frontend.onnx.importers.fused import FUSED
from aot.frontend.onnx.importers.gathering import GATHERING
from aot.frontend.onnx.importers.grams import GRAMS
from aot.frontend.onnx.importers.indexing import INDEXING
from aot.frontend.onnx.importers.moving import MOVING
from aot.frontend.onnx.importers.normalising import NORMALISING
from aot.frontend.onnx.importers.optimising import OPTIMISING
from aot.frontend.onnx.importers.optionals import OPTIONALS
from aot.frontend.onnx.importers.padding import PADDING
from aot.frontend.onnx.importers.pooling import POOLING
from aot.frontend.onnx.importers.products import PRODUCTS
from aot.frontend.onnx.importers.quantised import MICROSOFT, QUANTISED
from aot.frontend.onnx.importers.quantising import QUANTISING
from aot.frontend.onnx.importers.recurrent import RECURRENT
from aot.frontend.onnx.importers.reductions import REDUCTIONS
from aot.frontend.onnx.importers.regions import REGIONS
from aot.frontend.onnx.importers.resizing import RESIZING
from aot.frontend.onnx.importers.sampling import SAMPLING
from aot.frontend.onnx.importers.scattering import SCATTERING
from aot.frontend.onnx.importers.sequences import SEQUENCES
from aot.frontend.onnx.importers.spectra import SPECTRA
from aot.frontend.onnx.importers.support_vectors import SUPPORT_VECTORS
from aot.frontend.onnx.importers.suppressing import SUPPRESSING
from aot.frontend.onnx.importers.trees import TREES
from aot.frontend.onnx.operation import Importer

IMPORTERS: Mapping[str, Importer] = MappingProxyType(
    {
        **BITS_READ,
        **CASTING,
        **CHOOSING,
        **CONTROL,
        **CONVOLUTION,
        **DETERMINANTS,
        **ELEMENTWISE,
        **INDEXING,
        **RESIZING,
        **QUANTISED,
        **QUANTISING,
        **GATHERING,
        **GRAMS,
        **MOVING,
        **NORMALISING,
        **OPTIONALS,
        **PADDING,
        **POOLING,
        **PRODUCTS,
        **RECURRENT,
        **REDUCTIONS,
        **REGIONS,
        **SAMPLING,
        **SCATTERING,
        **SEQUENCES,
        **SPECTRA,
        **SUPPRESSING,
    }
)
# By the operator's domain.
OF_DOMAIN: Mapping[str, Mapping[str, Importer]] = MappingProxyType(
    {
        "": IMPORTERS,
        "ai.onnx": IMPORTERS,
        "ai.onnx.ml": MappingProxyType({**CLASSICAL, **SUPPORT_VECTORS, **TREES}),
        "ai.onnx.preview.training": OPTIMISING,
        "com.microsoft": MappingProxyType({**FUSED, **MICROSOFT}),
    }
)
# What extensions add, by domain and operator: "com.example.Median".
ADDED: Mapping[str, Importer] = OpenTable({}, OPS, entries_of("ONNX"))
