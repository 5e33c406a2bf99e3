"""Writers of regions for Vela: the TFLite writers, and replacements for ops that Vela would change."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from aot.frontend.tflite import operators
from aot.frontend.tflite.dense_as_convolution import write_dense
from aot.frontend.tflite.unsigned import as_bytes
from aot.frontend.tflite.write_file import Writer

WRITERS: Mapping[str, Writer] = MappingProxyType(
    {
        **operators.WRITERS,
        "conv2d": operators.conv2d_writer(as_bytes),
        "dense": write_dense,
        "depthwise_conv2d": operators.depthwise_writer(as_bytes),
    }
)
