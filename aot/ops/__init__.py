"""The canonical ops by name."""

from __future__ import annotations

from collections.abc import Mapping

from aot.extensions import OPS as GROUP
from aot.extensions import OpenTable, entry_of
from aot.ops.average_pool2d import AveragePool2d
from aot.ops.batch_matmul import BatchMatmul
from aot.ops.binary import Add, Div, Mul, Prelu, SquaredDifference, Sub
from aot.ops.biquads import Biquads
from aot.ops.blobs import Blobs
from aot.ops.combine import Combine
from aot.ops.compare import Compare
from aot.ops.concat import Concat
from aot.ops.contract import Contract
from aot.ops.conv2d import Conv2d
from aot.ops.conv2d_add import Conv2dAdd
from aot.ops.convert import Convert
from aot.ops.cumulate import Cumulate
from aot.ops.demosaic import Demosaic
from aot.ops.dense import Dense
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.detect import Detect
from aot.ops.energy import Energy
from aot.ops.fft import Fft, RealSamples, RealSpectrum
from aot.ops.filter_bank import FilterBank
from aot.ops.gain_control import GainControl
from aot.ops.gather import Gather, GatherNd
from aot.ops.hybrid_dense import HybridDense
from aot.ops.l2_norm import L2Norm
from aot.ops.log_softmax import LogSoftmax
from aot.ops.lookup import Lookup
from aot.ops.max_pool2d import MaxPool2d
from aot.ops.mean import Mean
from aot.ops.non_max_suppression import NonMaxSuppression
from aot.ops.op import Op
from aot.ops.own_steps import InOwnSteps, MeasuredRange
from aot.ops.pad import Pad
from aot.ops.quantize import Dequantize, Quantize
from aot.ops.rearrange import Rearrange
from aot.ops.recurrent import Recurrent
from aot.ops.reduce import ArgExtreme, Reduce
from aot.ops.reshape import Reshape
from aot.ops.resize import Resize
from aot.ops.round_mantissa import RoundMantissa
from aot.ops.select import Select
from aot.ops.signal import (
    FixedLog,
    Headroom,
    NoiseEstimate,
    ShiftUp,
    WholeRoot,
    Window,
    WithoutNoise,
)
from aot.ops.smooth import Smooth
from aot.ops.softmax import Softmax
from aot.ops.unary import Clamp, HardSwish, LeakyRelu, Logistic, Tanh
from aot.ops.unary_math import UnaryMath
from aot.ops.unpack_rgb565 import UnpackRgb565
from aot.ops.update_slice import UpdateSlice
from aot.ops.windows import Windows

_OURS = (
    Add,
    ArgExtreme,
    AveragePool2d,
    BatchMatmul,
    Biquads,
    Blobs,
    Clamp,
    Combine,
    Compare,
    Concat,
    Contract,
    Conv2d,
    Conv2dAdd,
    Convert,
    Cumulate,
    Dense,
    Demosaic,
    DepthwiseConv2d,
    Dequantize,
    Detect,
    Div,
    Energy,
    Fft,
    FilterBank,
    FixedLog,
    GainControl,
    Gather,
    GatherNd,
    HardSwish,
    Headroom,
    HybridDense,
    InOwnSteps,
    L2Norm,
    LeakyRelu,
    Logistic,
    LogSoftmax,
    Lookup,
    MaxPool2d,
    Mean,
    MeasuredRange,
    Mul,
    NoiseEstimate,
    NonMaxSuppression,
    Pad,
    Prelu,
    Quantize,
    RealSamples,
    RealSpectrum,
    Rearrange,
    Recurrent,
    Reduce,
    Reshape,
    Resize,
    RoundMantissa,
    Select,
    ShiftUp,
    Smooth,
    Softmax,
    SquaredDifference,
    Sub,
    Tanh,
    UnaryMath,
    UnpackRgb565,
    UpdateSlice,
    WholeRoot,
    Window,
    Windows,
    WithoutNoise,
)
OPS: Mapping[str, type[Op]] = OpenTable({op.name: op for op in _OURS}, GROUP, entry_of("OP", type))
