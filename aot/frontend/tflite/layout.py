"""The part of TFLite's schema that is read, as layouts for the bounds checks; numbers as in the schema."""

from __future__ import annotations

from tflite import BuiltinOptions, BuiltinOptions2, SparseIndexVector

from aot.frontend.tflite.flatbuffer import Layout, Scalar, Tables, Union, Vector

BLOCKWISE = 2  # of QuantizationDetails; the schema of the package tflite is older
_BYTE, _INT, _LONG = Scalar(1), Scalar(4), Scalar(8)
_BYTES, _INTS, _LONGS = Vector(1), Vector(4), Vector(8)

_OPTIONS = {
    BuiltinOptions.Conv2DOptions: Layout(
        "Conv2DOptions", {0: _BYTE, 1: _INT, 2: _INT, 3: _BYTE, 4: _INT, 5: _INT, 6: _BYTE}
    ),
    BuiltinOptions.DepthwiseConv2DOptions: Layout(
        "DepthwiseConv2DOptions", {0: _BYTE, 1: _INT, 2: _INT, 3: _INT, 4: _BYTE, 5: _INT, 6: _INT}
    ),
    BuiltinOptions.Pool2DOptions: Layout(
        "Pool2DOptions", {0: _BYTE, 1: _INT, 2: _INT, 3: _INT, 4: _INT, 5: _BYTE}
    ),
    BuiltinOptions.FullyConnectedOptions: Layout(
        "FullyConnectedOptions", {0: _BYTE, 1: _BYTE, 2: _BYTE, 3: _BYTE, 4: _BYTE}
    ),
    BuiltinOptions.L2NormOptions: Layout("L2NormOptions", {0: _BYTE}),
    BuiltinOptions.SoftmaxOptions: Layout("SoftmaxOptions", {0: _INT}),
    BuiltinOptions.AddOptions: Layout("AddOptions", {0: _BYTE, 1: _BYTE}),
    BuiltinOptions.MulOptions: Layout("MulOptions", {0: _BYTE}),
    BuiltinOptions.ConcatenationOptions: Layout("ConcatenationOptions", {0: _INT, 1: _BYTE}),
    BuiltinOptions.DivOptions: Layout("DivOptions", {0: _BYTE}),
    BuiltinOptions.CumsumOptions: Layout("CumsumOptions", {0: _BYTE, 1: _BYTE}),
    BuiltinOptions.DepthToSpaceOptions: Layout("DepthToSpaceOptions", {0: _INT}),
    BuiltinOptions.GatherOptions: Layout("GatherOptions", {0: _INT, 1: _INT}),
    BuiltinOptions.MirrorPadOptions: Layout("MirrorPadOptions", {0: _BYTE}),
    BuiltinOptions.ResizeBilinearOptions: Layout("ResizeBilinearOptions", {2: _BYTE, 3: _BYTE}),
    BuiltinOptions.ResizeNearestNeighborOptions: Layout("ResizeNearestNeighborOptions", {0: _BYTE, 1: _BYTE}),
    BuiltinOptions.SpaceToDepthOptions: Layout("SpaceToDepthOptions", {0: _INT}),
    BuiltinOptions.GeluOptions: Layout("GeluOptions", {0: _BYTE}),
    BuiltinOptions.LeakyReluOptions: Layout("LeakyReluOptions", {0: _INT}),
    BuiltinOptions.PackOptions: Layout("PackOptions", {0: _INT, 1: _INT}),
    BuiltinOptions.StridedSliceOptions: Layout(
        "StridedSliceOptions", {0: _INT, 1: _INT, 2: _INT, 3: _INT, 4: _INT, 5: _BYTE}
    ),
    BuiltinOptions.UnpackOptions: Layout("UnpackOptions", {0: _INT, 1: _INT}),
    BuiltinOptions.SubOptions: Layout("SubOptions", {0: _BYTE, 1: _BYTE}),
    BuiltinOptions.SVDFOptions: Layout("SVDFOptions", {0: _INT, 1: _BYTE, 2: _BYTE}),
    BuiltinOptions.TransposeConvOptions: Layout(
        "TransposeConvOptions", {0: _BYTE, 1: _INT, 2: _INT, 3: _BYTE, 4: _BYTE}
    ),
    BuiltinOptions.BatchMatMulOptions: Layout("BatchMatMulOptions", {0: _BYTE, 1: _BYTE, 2: _BYTE}),
    BuiltinOptions.UnidirectionalSequenceLSTMOptions: Layout(
        "UnidirectionalSequenceLSTMOptions",
        {0: _BYTE, 1: _INT, 2: _INT, 3: _BYTE, 4: _BYTE, 5: _BYTE},
    ),
    BuiltinOptions.ReverseSequenceOptions: Layout("ReverseSequenceOptions", {0: _INT, 1: _INT}),
    BuiltinOptions.VarHandleOptions: Layout("VarHandleOptions", {0: _BYTES, 1: _BYTES}),
    BuiltinOptions.CallOnceOptions: Layout("CallOnceOptions", {0: _INT}),
    BuiltinOptions.CallOptions: Layout("CallOptions", {0: _INT}),
    BuiltinOptions.IfOptions: Layout("IfOptions", {0: _INT, 1: _INT}),
    BuiltinOptions.WhileOptions: Layout("WhileOptions", {0: _INT, 1: _INT}),
}
_OPTIONS_2 = {
    BuiltinOptions2.StableHLOCompositeOptions: Layout(
        "StableHLOCompositeOptions", {0: _BYTES, 1: _INT, 3: _BYTE, 4: _INT}
    ),
}
OPTIONS = (*_OPTIONS.values(), *_OPTIONS_2.values())
_OPERATOR_CODE = Layout("OperatorCode", {0: _BYTE, 1: _BYTES, 3: _INT})
_OPERATOR = Layout(
    "Operator",
    {
        0: _INT,
        1: _INTS,
        2: _INTS,
        3: _BYTE,
        4: Union(3, _OPTIONS),
        5: _BYTES,
        11: _BYTE,
        12: Union(11, _OPTIONS_2),
    },
)
_BLOCKWISE = Layout("BlockwiseQuantization", {0: _INT, 1: _INT, 2: _INT})
_QUANTIZATION = Layout(
    "QuantizationParameters",
    {2: _INTS, 3: _LONGS, 4: _BYTE, 5: Union(4, {BLOCKWISE: _BLOCKWISE}), 6: _INT},
)
_INDEX_VECTORS = {
    SparseIndexVector.Int32Vector: Layout("Int32Vector", {0: _INTS}),
    SparseIndexVector.Uint16Vector: Layout("Uint16Vector", {0: Vector(2)}),
    SparseIndexVector.Uint8Vector: Layout("Uint8Vector", {0: _BYTES}),
}
_DIMENSION = Layout(
    "DimensionMetadata",
    {0: _BYTE, 1: _INT, 2: _BYTE, 3: Union(2, _INDEX_VECTORS), 4: _BYTE, 5: Union(4, _INDEX_VECTORS)},
)
_SPARSITY = Layout("SparsityParameters", {0: _INTS, 1: _INTS, 2: Tables(_DIMENSION)})
_TENSOR = Layout("Tensor", {0: _INTS, 1: _BYTE, 2: _INT, 3: _BYTES, 4: _QUANTIZATION, 5: _BYTE, 6: _SPARSITY})
_SUBGRAPH = Layout("SubGraph", {0: Tables(_TENSOR), 1: _INTS, 2: _INTS, 3: Tables(_OPERATOR), 4: _BYTES})
_BUFFER = Layout("Buffer", {0: _BYTES, 1: _LONG, 2: _LONG})
MODEL = Layout("Model", {0: _INT, 1: Tables(_OPERATOR_CODE), 2: Tables(_SUBGRAPH), 4: Tables(_BUFFER)})
