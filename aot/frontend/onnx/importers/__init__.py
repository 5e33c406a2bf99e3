"""The importers of ONNX operators, by domain and name; operators without one may be functions."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from aot.extensions import OPS, OpenTable, entries_of
from aot.frontend.importer_table import importers_in
from aot.frontend.onnx.operation import Importer

# Domain -> modules here, each with the operators that it imports.
FILES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "": {
            "elementwise.CASTING": "BitCast, Cast, CastLike",
            "choosing": "Compress, NonZero, TopK, Unique",
            "control": "If, Loop, Scan",
            "convolution": "Conv, ConvInteger, ConvTranspose",
            "products.DETERMINANTS": "Det",
            "elementwise": (
                "Abs, Acos, Acosh, Add, And, Asin, Asinh, Atan, Atanh, BitShift, BitwiseAnd, BitwiseNot, "
                "BitwiseOr, BitwiseXor, Ceil, Celu, Clip, Cos, Cosh, Div, Elu, Equal, Erf, Exp, Floor, "
                "Gelu, Greater, GreaterOrEqual, HardSwish, LeakyRelu, Less, LessOrEqual, Log, Max, Mean, "
                "Min, Mod, Mul, Neg, Not, Or, Pow, Reciprocal, Relu, Round, Selu, Sigmoid, Sign, Sin, "
                "Sinh, Softplus, Softsign, Sqrt, Sub, Sum, Tan, Tanh, Where, Xor"
            ),
            "gathering": "Gather, GatherElements, GatherND",
            "grams": "TfIdfVectorizer",
            "gathering.INDEXING": "CumProd, CumSum, IsInf, IsNaN, OneHot, PRelu, Trilu",
            "moving": (
                "Concat, Constant, ConstantOfShape, DepthToSpace, Dropout, Expand, EyeLike, Flatten, "
                "Identity, Range, Reshape, ReverseSequence, Shape, Size, Slice, SpaceToDepth, Split, "
                "Squeeze, Tile, Transpose, Unsqueeze"
            ),
            "normalising": (
                "BatchNormalization, GroupNormalization, InstanceNormalization, LRN, LayerNormalization, "
                "LogSoftmax, LpNormalization, MeanVarianceNormalization, Softmax"
            ),
            "padding": "Pad",
            "pooling": (
                "AveragePool, GlobalAveragePool, GlobalLpPool, GlobalMaxPool, LpPool, MaxPool, MaxUnpool"
            ),
            "products": "Einsum, Gemm, MatMul, MatMulInteger",
            "quantised": "DequantizeLinear, QLinearConv, QLinearMatMul, QuantizeLinear",
            "recurrent": "GRU, LSTM, RNN",
            "reductions": (
                "ArgMax, ArgMin, Hardmax, ReduceL1, ReduceL2, ReduceLogSum, ReduceLogSumExp, ReduceMax, "
                "ReduceMean, ReduceMin, ReduceProd, ReduceSum, ReduceSumSquare"
            ),
            "regions": "DeformConv, RoiAlign",
            "resizing": "Resize, Upsample",
            "regions.SAMPLING": "GridSample",
            "scattering": "Col2Im, Scatter, ScatterElements, ScatterND, TensorScatter",
            "sequences": (
                "ConcatFromSequence, Optional, OptionalGetElement, OptionalHasElement, SequenceAt, "
                "SequenceConstruct, SequenceEmpty, SequenceErase, SequenceInsert, SequenceLength, "
                "SplitToSequence"
            ),
            "spectra": "DFT, MelWeightMatrix, STFT",
            "choosing.SUPPRESSING": "NonMaxSuppression",
            "transformer": "Attention, RMSNormalization, RotaryEmbedding, SimplifiedLayerNormalization",
        },
        "ai.onnx.ml": {
            "classical": (
                "ArrayFeatureExtractor, Binarizer, Imputer, LabelEncoder, LinearClassifier, "
                "LinearRegressor, Normalizer, SVMClassifier, SVMRegressor, Scaler, ZipMap"
            ),
            "trees": "TreeEnsemble, TreeEnsembleClassifier, TreeEnsembleRegressor",
        },
        "ai.onnx.preview.training": {
            "optimising": "Adagrad, Adam, Momentum",
        },
        "com.microsoft": {
            "fused": (
                "BiasGelu, DynamicQuantizeMatMul, FastGelu, FusedConv, FusedGemm, FusedMatMul, Gelu, "
                "MatMulIntegerToFloat, MatMulNBits, QuickGelu, SkipLayerNormalization"
            ),
            "quantised.MICROSOFT": (
                "DequantizeLinear, QGemm, QLinearAdd, QLinearAveragePool, QLinearConcat, "
                "QLinearGlobalAveragePool, QLinearLeakyRelu, QLinearMul, QLinearReduceMean, "
                "QLinearSigmoid, QLinearSoftmax, QuantizeLinear"
            ),
            "transformer.MICROSOFT": (
                "GroupQueryAttention, RotaryEmbedding, SkipSimplifiedLayerNormalization"
            ),
        },
    }
)
_BY_DOMAIN = {domain: importers_in(__name__, files) for domain, files in FILES.items()}
IMPORTERS: Mapping[str, Importer] = _BY_DOMAIN[""]
# By the operator's domain.
OF_DOMAIN: Mapping[str, Mapping[str, Importer]] = MappingProxyType({**_BY_DOMAIN, "ai.onnx": IMPORTERS})
# Importers from extensions, by domain and operator: "com.example.Median".
ADDED: Mapping[str, Importer] = OpenTable({}, OPS, entries_of("ONNX"))
