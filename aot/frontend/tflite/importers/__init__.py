"""How each TFLite operator becomes nodes: the operators that are supported, by the schema's names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from aot.frontend.tflite.draft import Draft, Operator
from aot.frontend.tflite.importers.arithmetic import import_add, import_reshape, import_softmax
from aot.frontend.tflite.importers.convolution import (
    import_conv_2d,
    import_depthwise_conv_2d,
    import_fully_connected,
)
from aot.frontend.tflite.importers.pooling import import_average_pool_2d, import_max_pool_2d

IMPORTERS: Mapping[str, Callable[[Draft, Operator, str], None]] = MappingProxyType(
    {
        "ADD": import_add,
        "AVERAGE_POOL_2D": import_average_pool_2d,
        "CONV_2D": import_conv_2d,
        "DEPTHWISE_CONV_2D": import_depthwise_conv_2d,
        "FULLY_CONNECTED": import_fully_connected,
        "MAX_POOL_2D": import_max_pool_2d,
        "RESHAPE": import_reshape,
        "SOFTMAX": import_softmax,
    }
)
