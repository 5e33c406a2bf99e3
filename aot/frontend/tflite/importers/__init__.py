"""The importers of TFLite operators, by the schema's names. Operators without one are unsupported."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from aot.extensions import OPS, OpenTable, entries_of
from aot.frontend.importer_table import importers_in
from aot.frontend.tflite.operation import Importer

# The modules here, each with the operators that it imports.
FILES: Mapping[str, str] = MappingProxyType(
    {
        "arithmetic": (
            "ADD, ADD_N, ATAN2, BITWISE_XOR, BROADCAST_ARGS, DIV, EQUAL, FLOOR_DIV, FLOOR_MOD, "
            "GREATER, GREATER_EQUAL, LESS, LESS_EQUAL, LOGICAL_AND, LOGICAL_OR, MAXIMUM, MINIMUM, "
            "MUL, NOT_EQUAL, POW, PRELU, RIGHT_SHIFT, SELECT, SELECT_V2, SQUARED_DIFFERENCE, SUB"
        ),
        "batch_matmul": "BATCH_MATMUL",
        "choosing": "BUCKETIZE, MATRIX_DIAG, MATRIX_SET_DIAG, ONE_HOT, TOPK_V2, UNIQUE, WHERE",
        "composed": "FAKE_QUANT, L2_POOL_2D, LOCAL_RESPONSE_NORMALIZATION",
        "control_flow": "CALL, IF, STABLEHLO_COMPOSITE, WHILE",
        "convolution": "CONV_2D, DEPTHWISE_CONV_2D, FULLY_CONNECTED",
        "detection": ("CUSTOM TFLite_Detection_PostProcess, NON_MAX_SUPPRESSION_V4, NON_MAX_SUPPRESSION_V5"),
        "signals.FRAMES": (
            "CUSTOM SignalDelay, CUSTOM SignalFramer, CUSTOM SignalOverlapAdd, CUSTOM SignalStacker"
        ),
        "gathering": (
            "DYNAMIC_UPDATE_SLICE, EMBEDDING_LOOKUP, GATHER, GATHER_ND, MIRROR_PAD, RESIZE_BILINEAR, "
            "RESIZE_NEAREST_NEIGHBOR"
        ),
        "known": "DENSIFY, FILL, RANGE, RANK, SHAPE, ZEROS_LIKE",
        "recurrent.LSTM": "BIDIRECTIONAL_SEQUENCE_LSTM, LSTM, UNIDIRECTIONAL_SEQUENCE_LSTM",
        "pooling": "AVERAGE_POOL_2D, MAX_POOL_2D",
        "reductions": (
            "ARG_MAX, ARG_MIN, CUMSUM, MEAN, REDUCE_ALL, REDUCE_ANY, REDUCE_MAX, REDUCE_MIN, REDUCE_PROD, SUM"
        ),
        "gathering.REVERSED_SEQUENCES": "REVERSE_SEQUENCE",
        "recurrent.RNN": "BIDIRECTIONAL_SEQUENCE_RNN, RNN, UNIDIRECTIONAL_SEQUENCE_RNN",
        "scattering": (
            "EMBEDDING_LOOKUP_SPARSE, SCATTER_ND, SEGMENT_SUM, SPARSE_TO_DENSE, UNSORTED_SEGMENT_MAX, "
            "UNSORTED_SEGMENT_MIN, UNSORTED_SEGMENT_PROD, UNSORTED_SEGMENT_SUM"
        ),
        "shapes": (
            "BATCH_TO_SPACE_ND, BROADCAST_TO, CONCATENATION, DEPTH_TO_SPACE, EXPAND_DIMS, PACK, PAD, "
            "PADV2, RESHAPE, REVERSE_V2, SLICE, SPACE_TO_BATCH_ND, SPACE_TO_DEPTH, SPLIT, SPLIT_V, "
            "SQUEEZE, STRIDED_SLICE, TILE, TRANSPOSE, UNPACK"
        ),
        "signals": (
            "CUSTOM SignalEnergy, CUSTOM SignalFftAutoScale, CUSTOM SignalFilterBank, "
            "CUSTOM SignalFilterBankLog, CUSTOM SignalFilterBankSpectralSubtraction, "
            "CUSTOM SignalFilterBankSquareRoot, CUSTOM SignalIrfft, CUSTOM SignalPCAN, "
            "CUSTOM SignalRfft, CUSTOM SignalWindow"
        ),
        "spectra": "COMPLEX_ABS, IMAG, REAL, RFFT2D",
        "svdf": "SVDF",
        "transpose_conv": "CUSTOM Convolution2DTransposeBias, TRANSPOSE_CONV",
        "unary": (
            "ABS, BITCAST, CAST, CEIL, COS, DEQUANTIZE, ELU, EXP, FLOOR, GELU, HARD_SWISH, L2_NORMALIZATION, "
            "LEAKY_RELU, LOG, LOGICAL_NOT, LOGISTIC, LOG_SOFTMAX, NEG, QUANTIZE, RELU, RELU6, "
            "RELU_0_TO_1, RELU_N1_TO_1, ROUND, RSQRT, SIGN, SIN, SOFTMAX, SQRT, SQUARE, TANH"
        ),
        "variables": "ASSIGN_VARIABLE, CALL_ONCE, READ_VARIABLE, VAR_HANDLE",
        "transpose_conv.VOLUMES": "CONV_3D, CONV_3D_TRANSPOSE",
        "pooling.WINDOWS": "DILATE, REDUCE_WINDOW",
    }
)
IMPORTERS: Mapping[str, Importer] = OpenTable(importers_in(__name__, FILES), OPS, entries_of("TFLITE"))
