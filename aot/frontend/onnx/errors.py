"""Errors of reading ONNX files: what is wrong, why, and what helps; all of a file at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from aot.errors import DeployError, ModelError, UnsupportedError


class LeftOpenError(ModelError):
    """The file leaves something open that `options` of the command line can set."""

    def __init__(self, what: str, where: str, hint: str, options: str) -> None:
        super().__init__(what, where, hint)
        self.options = options


class NeedsValueError(LeftOpenError):
    """An importer needs the elements of a value that is computed or given at run time."""

    def __init__(self, error: DeployError, graph_input: str | None, options: str) -> None:
        super().__init__(error.what, error.where, error.hint, options)
        self.graph_input = graph_input  # the model's input, if it is one


class NoImporterError(UnsupportedError):
    """No importer supports the operator; `label` names its node."""

    def __init__(self, error: DeployError, operator: str, label: str) -> None:
        super().__init__(error.what, error.where, error.hint)
        self.operator = operator
        self.label = label


class AlreadyReportedError(ModelError):
    """An error in a body that has been collected already."""


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
    "",
    "export the model without it, have the file define it by others (onnx.helper.make_function), "
    "or add it: deploy docs tutorials/own-op",
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


MOST_NAMED = 50  # nodes of one operator, and nodes that violate a limit


@dataclass
class Refused:
    """Errors collected while reading the file as far as possible."""

    file_name: str
    _places: dict[str, dict[str, None]] = field(default_factory=dict)  # by operator, in order
    _errors: list[ModelError] = field(default_factory=list)

    def add(self, error: ModelError) -> None:
        if isinstance(error, NoImporterError):
            self.add_operators([(error.operator, error.label)])
        elif not isinstance(error, AlreadyReportedError):
            self._errors.append(error)

    def add_operators(self, found: Iterable[tuple[str, str]]) -> None:
        for operator, label in found:
            self._places.setdefault(operator, {})[f'"{label}"'] = None

    @property
    def is_long(self) -> bool:
        return len(self._errors) >= MOST_NAMED

    def whole(self) -> ModelError | None:
        """Returns all errors as one; a single error is returned unchanged."""
        if not self._places and len(self._errors) < 2:
            return self._errors[0] if self._errors else None
        lines = [line for name in sorted(self._places) for line in self._operator(name)]
        lines += [line for error in self._errors for line in self._told(error)]
        if self.is_long:
            lines.append(f"reading stopped after {MOST_NAMED} problems")
        kind = UnsupportedError if self._places else ModelError
        whole = kind(self._what(), "\n".join([self.file_name, *lines]), self._way_out())
        needing = next((error for error in self._errors if isinstance(error, NeedsValueError)), None)
        return whole if needing is None else NeedsValueError(whole, needing.graph_input, needing.options)

    def _what(self) -> str:
        if not self._places:
            return f"{len(self._errors)} problems prevent compilation"
        plural = "operators {} are" if len(self._places) > 1 else "operator {} is"
        return f"ONNX {plural.format(', '.join(sorted(self._places)))} not supported"

    def _operator(self, name: str) -> list[str]:
        places, reason = list(self._places[name]), reason_of(name)
        shown = ", ".join(places[:MOST_NAMED])
        more = f" and {len(places) - MOST_NAMED} more" if len(places) > MOST_NAMED else ""
        return [f"{name}{reason.why and ', '}{reason.why}: {shown}{more}", f"  {reason.way_out}"]

    def _told(self, error: ModelError) -> list[str]:
        where = error.where.removesuffix(f"({self.file_name})").removeprefix("at ").rstrip()
        told = f"{where}: {error.what}" if where != self.file_name else error.what
        return [told, *(f"  {line}" for line in error.hint.splitlines())]

    def _way_out(self) -> str:
        """Returns the options that help, as one text to copy."""
        options = [error.options for error in self._errors if isinstance(error, LeftOpenError)]
        given = " ".join(dict.fromkeys(option for option in options if option))
        listed = "deploy docs ops lists what each operator supports"
        return f"set what the file leaves open: {given}\n{listed}" if given else listed
