"""The importers of TFLite operators, by the schema's names: the operators that are supported."""

from __future__ import annotations

from collections.abc import Mapping

from aot.extensions import OPS, OpenTable, entries_of
from aot.frontend.tflite.draft import Importer
from aot.frontend.tflite.importers.arithmetic import ARITHMETIC
from aot.frontend.tflite.importers.batch_matmul import import_batch_matmul
from aot.frontend.tflite.importers.composed import COMPOSED
from aot.frontend.tflite.importers.control_flow import CONTROL_FLOW
from aot.frontend.tflite.importers.convolution import (
    import_conv_2d,
    import_depthwise_conv_2d,
    import_fully_connected,
)
from aot.frontend.tflite.importers.detection import DETECTION
from aot.frontend.tflite.importers.frames import FRAMES
from aot.frontend.tflite.importers.gathering import GATHERING
from aot.frontend.tflite.importers.known import KNOWN
from aot.frontend.tflite.importers.lstm import import_lstm
from aot.frontend.tflite.importers.pooling import import_average_pool_2d, import_max_pool_2d
from aot.frontend.tflite.importers.reductions import REDUCTIONS
from aot.frontend.tflite.importers.reversed_sequences import REVERSED_SEQUENCES
from aot.frontend.tflite.importers.shapes import SHAPES
from aot.frontend.tflite.importers.signals import SIGNALS
from aot.frontend.tflite.importers.svdf import import_svdf
from aot.frontend.tflite.importers.transpose_conv import (
    import_transpose_conv,
    import_transpose_conv_bias,
)
from aot.frontend.tflite.importers.unary import UNARY
from aot.frontend.tflite.importers.variables import VARIABLES

IMPORTERS: Mapping[str, Importer] = OpenTable(
    {
        **ARITHMETIC,
        **COMPOSED,
        **CONTROL_FLOW,
        **DETECTION,
        **GATHERING,
        **KNOWN,
        **REDUCTIONS,
        **REVERSED_SEQUENCES,
        **SHAPES,
        **FRAMES,
        **SIGNALS,
        **UNARY,
        **VARIABLES,
        "AVERAGE_POOL_2D": import_average_pool_2d,
        "BATCH_MATMUL": import_batch_matmul,
        "CONV_2D": import_conv_2d,
        "CUSTOM Convolution2DTransposeBias": import_transpose_conv_bias,
        "DEPTHWISE_CONV_2D": import_depthwise_conv_2d,
        "FULLY_CONNECTED": import_fully_connected,
        "MAX_POOL_2D": import_max_pool_2d,
        "SVDF": import_svdf,
        "TRANSPOSE_CONV": import_transpose_conv,
        "UNIDIRECTIONAL_SEQUENCE_LSTM": import_lstm,
    },
    OPS,
    entries_of("TFLITE"),
)
