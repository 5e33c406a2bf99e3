"""Arguments that apply only to models of frameworks."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from aot.errors import InputError


@dataclass(frozen=True)
class ModuleOptions:
    """Everything given about such a model, except the board."""

    example: Any  # of its input or inputs
    calibration: Any = None  # samples, counted by the first axis
    labels: Any = None  # classes of the samples
    signal_to_noise: float | None = None  # minimum in decibels, for weights or activations
    activation_type: str | None = None  # one of ACTIVATIONS


def require_no_module_options(words: ModuleOptions) -> None:
    """Raises InputError for arguments that apply only to models of frameworks."""
    if any(getattr(words, each.name) is not None for each in fields(words)):
        raise InputError(
            "an example, calibration, labels, signal_to_noise and activation_type apply to framework models, "
            "but this model is a file",
            hint="use deploy.quantize for an ONNX file, and deploy.verify for labels",
        )
