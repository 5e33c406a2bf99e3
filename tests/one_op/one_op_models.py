"""One-operator TFLite models by the hundred, drawn at random: types, shapes, attributes, quantisations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from drawing import Draw, Maker
from element_makers import (
    add_n,
    arithmetic,
    cast,
    combined,
    dequantize,
    plain_pair,
    prelu,
    quantize,
    select,
    unary,
)
from layer_makers import (
    batch_matmul,
    conv,
    conv_3d,
    cumsum,
    dense,
    depthwise,
    local_response,
    places,
    pool,
    reduction,
    resize,
    transpose_conv,
)
from moving_makers import (
    UNSORTED,
    batch_to_space,
    broadcast_to,
    bucketize,
    concatenation,
    depth_to_space,
    embedding,
    gather,
    gather_nd,
    matrix_diag,
    matrix_set_diag,
    mirror_pad,
    one_hot,
    pack,
    pad,
    reshape,
    reverse,
    scatter_nd,
    segment_sum,
    slice_,
    space_to_batch,
    space_to_depth,
    sparse_to_dense,
    split,
    split_v,
    strided_slice,
    suppression,
    suppression_with_scores,
    tile,
    top_k,
    transpose,
    unpack,
)
from tflite_builder import ModelBuilder

FLOATS = "float32"


MAKERS: Mapping[str, Maker] = {
    "ADD": arithmetic("ADD", "AddOptions", "int8", "int16", FLOATS, "int32"),
    "SUB": arithmetic("SUB", "SubOptions", "int8", "int16", FLOATS, "int32"),
    "MUL": arithmetic("MUL", "MulOptions", "int8", "int16", FLOATS, "int32"),
    "DIV": arithmetic("DIV", "DivOptions", "int8", FLOATS),
    "SQUARED_DIFFERENCE": plain_pair("SQUARED_DIFFERENCE", "SquaredDifferenceOptions", FLOATS, "int32"),
    "SQUARED_DIFFERENCE_int8": arithmetic("SQUARED_DIFFERENCE", "", "int8"),
    "MAXIMUM": combined("MAXIMUM", "MaximumMinimumOptions", "int8", FLOATS, "int32", "int64", "int16"),
    "MINIMUM": combined("MINIMUM", "MaximumMinimumOptions", "int8", FLOATS, "int32", "int64", "int16"),
    "FLOOR_DIV": plain_pair("FLOOR_DIV", "FloorDivOptions", FLOATS),
    "FLOOR_MOD": plain_pair("FLOOR_MOD", "FloorModOptions", FLOATS),
    "LOGICAL_AND": plain_pair("LOGICAL_AND", "LogicalAndOptions", "bool"),
    "LOGICAL_OR": plain_pair("LOGICAL_OR", "LogicalOrOptions", "bool"),
    "LOGICAL_NOT": unary("LOGICAL_NOT", "LogicalNotOptions", "bool", quantised=False),
    **{
        code: combined(code, f"{name}Options", "int8", FLOATS, "int32", "int64", result="bool")
        for code, name in (
            ("EQUAL", "Equal"),
            ("NOT_EQUAL", "NotEqual"),
            ("GREATER", "Greater"),
            ("GREATER_EQUAL", "GreaterEqual"),
            ("LESS", "Less"),
            ("LESS_EQUAL", "LessEqual"),
        )
    },
    "ABS": unary("ABS", "AbsOptions", "int8", "int16", FLOATS),
    "CEIL": unary("CEIL", "", FLOATS),
    "COS": unary("COS", "CosOptions", FLOATS),
    "ELU": unary("ELU", "", "int8", FLOATS),
    "EXP": unary("EXP", "ExpOptions", "int8", "int16", FLOATS),
    "FLOOR": unary("FLOOR", "", FLOATS),
    "GELU": unary("GELU", "GeluOptions", "int8", FLOATS),
    "HARD_SWISH": unary("HARD_SWISH", "HardSwishOptions", "int8", FLOATS),
    "L2_NORMALIZATION": unary("L2_NORMALIZATION", "L2NormOptions", "int8", FLOATS),
    "LEAKY_RELU": unary("LEAKY_RELU", "LeakyReluOptions", "int8", "int16", FLOATS),
    "LOG": unary("LOG", "", "int8", FLOATS),
    "LOGISTIC": unary("LOGISTIC", "", "int8", "int16", FLOATS),
    "LOG_SOFTMAX": unary("LOG_SOFTMAX", "LogSoftmaxOptions", "int8", FLOATS),
    "NEG": unary("NEG", "NegOptions", FLOATS, "int8"),
    "RELU": unary("RELU", "", "int8", "int16", FLOATS),
    "RELU6": unary("RELU6", "", "int8", FLOATS),
    "ROUND": unary("ROUND", "", FLOATS),
    "RSQRT": unary("RSQRT", "", "int8", FLOATS),
    "SIN": unary("SIN", "", FLOATS),
    "SOFTMAX": unary("SOFTMAX", "SoftmaxOptions", "int8", "int16", FLOATS),
    "SQRT": unary("SQRT", "", FLOATS),
    "SQUARE": unary("SQUARE", "SquareOptions", FLOATS),
    "TANH": unary("TANH", "", "int8", "int16", FLOATS),
    "ADD_N": add_n,
    "ARG_MAX": places("ARG_MAX"),
    "ARG_MIN": places("ARG_MIN"),
    "AVERAGE_POOL_2D": pool("AVERAGE_POOL_2D"),
    "BATCH_MATMUL": batch_matmul,
    "BATCH_TO_SPACE_ND": batch_to_space,
    "BROADCAST_TO": broadcast_to,
    "CAST": cast,
    "CONCATENATION": concatenation,
    "CONV_2D": conv,
    "CUMSUM": cumsum,
    "DEPTHWISE_CONV_2D": depthwise,
    "DEPTH_TO_SPACE": depth_to_space,
    "DEQUANTIZE": dequantize,
    "EMBEDDING_LOOKUP": embedding,
    "FULLY_CONNECTED": dense,
    "GATHER": gather,
    "GATHER_ND": gather_nd,
    "L2_POOL_2D": pool("L2_POOL_2D"),
    "MAX_POOL_2D": pool("MAX_POOL_2D"),
    "MEAN": reduction("MEAN", "int8", "int16", FLOATS),
    "MIRROR_PAD": mirror_pad,
    "PACK": pack,
    "PAD": pad("PAD"),
    "PADV2": pad("PADV2"),
    "PRELU": prelu,
    "QUANTIZE": quantize,
    "REDUCE_ALL": reduction("REDUCE_ALL", "bool"),
    "REDUCE_MAX": reduction("REDUCE_MAX", "int8", "int16", FLOATS),
    "REDUCE_MIN": reduction("REDUCE_MIN", "int8", "int16", FLOATS),
    "RESHAPE": reshape,
    "RESIZE_BILINEAR": resize("RESIZE_BILINEAR"),
    "RESIZE_NEAREST_NEIGHBOR": resize("RESIZE_NEAREST_NEIGHBOR"),
    "REVERSE_V2": reverse,
    "SELECT_V2": select("SELECT_V2"),
    "SLICE": slice_,
    "SPACE_TO_BATCH_ND": space_to_batch,
    "SPACE_TO_DEPTH": space_to_depth,
    "SPLIT": split,
    "SPLIT_V": split_v,
    "STRIDED_SLICE": strided_slice,
    "SUM": reduction("SUM", "int8", "int16", FLOATS, "int32"),
    "TILE": tile,
    "TRANSPOSE": transpose,
    "TRANSPOSE_CONV": transpose_conv,
    "UNPACK": unpack,
    "ONE_HOT": one_hot,
    "TOPK_V2": top_k,
    "BUCKETIZE": bucketize,
    "CONV_3D": conv_3d,
    "LOCAL_RESPONSE_NORMALIZATION": local_response,
    "MATRIX_DIAG": matrix_diag,
    "MATRIX_SET_DIAG": matrix_set_diag,
    "NON_MAX_SUPPRESSION_V4": suppression,
    "NON_MAX_SUPPRESSION_V5": suppression_with_scores,
    "SCATTER_ND": scatter_nd,
    "SEGMENT_SUM": segment_sum,
    "SPARSE_TO_DENSE": sparse_to_dense,
    **UNSORTED,
}


# Those that LiteRT has for unsigned bytes, too.
UNSIGNED = [
    "ADD",
    "SUB",
    "MUL",
    "MAXIMUM",
    "MINIMUM",
    "EQUAL",
    "GREATER",
    "RELU",
    "RELU6",
    "LOGISTIC",
    "TANH",
    "SOFTMAX",
    "HARD_SWISH",
    "PRELU",
    "ARG_MAX",
    "AVERAGE_POOL_2D",
    "MAX_POOL_2D",
    "CONCATENATION",
    "GATHER",
    "MEAN",
    "PACK",
    "PAD",
    "PADV2",
    "RESHAPE",
    "RESIZE_BILINEAR",
    "RESIZE_NEAREST_NEIGHBOR",
    "REDUCE_MAX",
    "REDUCE_MIN",
    "SLICE",
    "SPLIT",
    "STRIDED_SLICE",
    "TRANSPOSE",
    "UNPACK",
    "QUANTIZE",
    "L2_NORMALIZATION",
    "CONV_2D",
    "DEPTHWISE_CONV_2D",
    "FULLY_CONNECTED",
    "TRANSPOSE_CONV",
]


FOUR_BITS = ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"]  # may have weights of four bits


def models(count: int, seed: int = 0) -> Iterator[tuple[str, bytes]]:
    """`count` of each operator, by name."""
    for number, (name, make) in enumerate(MAKERS.items()):
        for case in range(count):
            rng = np.random.default_rng((seed, number, case))
            yield f"{name}_{case}", make(Draw(rng, ModelBuilder(name)))
    for number, name in enumerate(UNSIGNED):
        for case in range(-(-count // 2)):
            rng = np.random.default_rng((seed, 1000 + number, case))
            yield f"{name}_unsigned_{case}", MAKERS[name](Draw(rng, ModelBuilder(name), is_unsigned=True))
    for number, name in enumerate(FOUR_BITS):
        for case in range(count):
            rng = np.random.default_rng((seed, 2000 + number, case))
            yield f"{name}_int4_{case}", MAKERS[name](Draw(rng, ModelBuilder(name), weight_bits=4))
