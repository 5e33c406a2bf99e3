"""The table of ops: maps each name to its module and class."""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name
from types import MappingProxyType

from aot.extensions import OPS as GROUP
from aot.extensions import LazyTable, OpenTable, entry_of
from aot.ops.op import Op

PLACES: Mapping[str, str] = MappingProxyType(
    {
        "add": "binary.Add",
        "arg_extreme": "reduce.ArgExtreme",
        "average_pool2d": "average_pool2d.AveragePool2d",
        "batch_matmul": "batch_matmul.BatchMatmul",
        "biquads": "biquads.Biquads",
        "blobs": "blobs.Blobs",
        "clamp": "unary.Clamp",
        "combine": "combine.Combine",
        "compare": "compare.Compare",
        "cached_attention": "transformer.CachedAttention",
        "concat": "concat.Concat",
        "contract": "contract.Contract",
        "conv2d": "conv2d.Conv2d",
        "conv2d+add": "conv2d_add.Conv2dAdd",
        "convert": "convert.Convert",
        "cumulate": "cumulate.Cumulate",
        "demosaic": "demosaic.Demosaic",
        "dense": "dense.Dense",
        "depthwise_conv2d": "depthwise_conv2d.DepthwiseConv2d",
        "dequantize": "quantize.Dequantize",
        "detect": "detect.Detect",
        "div": "binary.Div",
        "energy": "energy.Energy",
        "fft": "fft.Fft",
        "filter_bank": "filter_bank.FilterBank",
        "fixed_log": "signal.FixedLog",
        "gain_control": "gain_control.GainControl",
        "gather": "gather.Gather",
        "gather_nd": "gather.GatherNd",
        "hard_swish": "unary.HardSwish",
        "headroom": "signal.Headroom",
        "hybrid_dense": "hybrid_dense.HybridDense",
        "in_own_steps": "own_steps.DynamicQuantize",
        "l2_norm": "l2_norm.L2Norm",
        "leaky_relu": "unary.LeakyRelu",
        "log_softmax": "log_softmax.LogSoftmax",
        "logistic": "unary.Logistic",
        "lookup": "lookup.Lookup",
        "loop": "step_loop.StepLoop",
        "max_pool2d": "max_pool2d.MaxPool2d",
        "mean": "mean.Mean",
        "measured_range": "own_steps.MeasuredRange",
        "mul": "binary.Mul",
        "noise_estimate": "signal.NoiseEstimate",
        "non_max_suppression": "non_max_suppression.NonMaxSuppression",
        "pad": "pad.Pad",
        "prelu": "binary.Prelu",
        "quantize": "quantize.Quantize",
        "real_samples": "fft.RealSamples",
        "real_spectrum": "fft.RealSpectrum",
        "rearrange": "rearrange.Rearrange",
        "recurrent": "recurrent.Recurrent",
        "reduce": "reduce.Reduce",
        "reshape": "reshape.Reshape",
        "resize": "resize.Resize",
        "rms_norm": "transformer.RmsNorm",
        "rotary": "transformer.Rotary",
        "round_mantissa": "round_mantissa.RoundMantissa",
        "select": "select.Select",
        "shift_rows": "write_rows.ShiftRows",
        "shift_up": "signal.ShiftUp",
        "smooth": "smooth.Smooth",
        "softmax": "softmax.Softmax",
        "squared_difference": "binary.SquaredDifference",
        "sub": "binary.Sub",
        "tanh": "unary.Tanh",
        "unary_math": "unary_math.UnaryMath",
        "unpack_rgb565": "unpack_rgb565.UnpackRgb565",
        "update_slice": "update_slice.UpdateSlice",
        "whole_root": "signal.WholeRoot",
        "window": "signal.Window",
        "windows": "windows.Windows",
        "without_noise": "signal.WithoutNoise",
        "write_rows": "write_rows.WriteRows",
    }
)

OPS: Mapping[str, type[Op]] = OpenTable(
    LazyTable(PLACES, lambda name: resolve_name(f"aot.ops.{PLACES[name]}")), GROUP, entry_of("OP", type)
)
