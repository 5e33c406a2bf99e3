"""Explains why an ONNX operator is not supported, and what helps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Reason:
    why: str
    way_out: str


_CUT = "end the model before it and do this in the application"
_TEXTS = Reason("it works on texts, only numbers are supported", _CUT)
_RANDOM = Reason("it generates random numbers", "export the model for inference, or make them an input")
_TRAINING = Reason("it is for training", "export the model for inference")
_OTHER_METHODS = Reason(
    "it belongs to methods other than networks and trees",
    "train a network or trees for the task, or run it in the application",
)
_FUSED = Reason(
    "it is a fused operator of ONNX Runtime's optimizer", "give the model before ONNX Runtime optimized it"
)
_DYNAMIC_LSTM = Reason(
    "it measures the range of its state at each step, but ranges must be fixed",
    'quantize the model without it: quantize_dynamic(..., op_types_to_quantize=["MatMul", "Conv"])',
)
_REGIONS = Reason("the size of its regions depends on the data; RoiAlign uses a fixed number of pixels", _CUT)
_UNKNOWN = Reason(
    "", "export the model without it, or have the file define it by others (onnx.helper.make_function)"
)
_OF_OPERATOR: Mapping[str, Reason] = MappingProxyType(
    {
        **dict.fromkeys(("RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit"), _TEXTS),
        **dict.fromkeys(("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike"), _RANDOM),
        **dict.fromkeys(("RandomUniform", "RandomUniformLike"), _RANDOM),
        "MaxRoiPool": _REGIONS,
        "com.microsoft.DynamicQuantizeLSTM": _DYNAMIC_LSTM,
        "ImageDecoder": Reason("it reads compressed images, only pixels are supported", _CUT),
    }
)
_OF_DOMAIN: Mapping[str, Reason] = MappingProxyType(
    {
        "ai.onnx.ml": _OTHER_METHODS,
        "ai.onnx.preview.training": _TRAINING,
        "com.microsoft": _FUSED,
        "com.microsoft.nchwc": _FUSED,
    }
)


def reason_of(operator: str) -> Reason:
    """Returns the reason for an operator, given with its domain unless that is the standard one."""
    return _OF_OPERATOR.get(operator) or _OF_DOMAIN.get(operator.rpartition(".")[0], _UNKNOWN)
