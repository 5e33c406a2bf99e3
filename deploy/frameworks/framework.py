"""The interface of training frameworks: recognizing, exporting and running their models."""

from __future__ import annotations

import io
import logging
import os
import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from aot.errors import InputError
from aot.ir.types import Array

# Hides progress output of converters, from Python and C++.


@contextmanager
def silent() -> Iterator[None]:
    """Discards output, warnings and log records of this process inside the block."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept, disabled = [os.dup(number) for number in (1, 2)], logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123  # a file descriptor is needed
        for number in (1, 2):
            os.dup2(nowhere.fileno(), number)
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)
        for number, file in zip((1, 2), kept, strict=True):
            os.dup2(file, number)
            os.close(file)


Sample = Mapping[str, Array]  # by the input names of the exported file


class FrameworkModel(ABC):
    """A framework's model with examples of its inputs."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Its name in errors: the class or function name."""

    @property
    def inputs(self) -> list[str]:
        """The names of its inputs, which samples may use."""
        return [f"input_{number}" for number in range(len(self.examples))]

    @property
    def input_names(self) -> Mapping[str, str]:
        """Further names that the framework has for its inputs, with those of `inputs`."""
        return {}

    @property
    @abstractmethod
    def examples(self) -> Sequence[Any]:
        """An example of each input."""

    @abstractmethod
    def exported(self) -> bytes:
        """Returns the model as a float file. Raises ToolError."""

    @abstractmethod
    def outputs(self, sample: Sample) -> list[Array]:
        """Returns the outputs computed by the framework."""

    def outputs_in_sequence(self, samples: Sequence[Sample]) -> list[list[Array]]:
        """Returns the outputs of consecutive runs. States of the model begin and end as they are."""
        return [self.outputs(sample) for sample in samples]

    def in_integers(self, samples: Sequence[Sample]) -> bytes | None:
        """Returns the file quantized by the framework's converter, or None to use ONNX Runtime."""
        return None

    def place_of(self, told: str) -> str:
        """Returns the location in the user's program that an error message refers to, or ""."""
        return ""

    how_to_pass_state = "take the state as one more input, and return the new one as one more output"

    def kept_values(self) -> Mapping[str, object]:
        """Returns copies of state that the model may keep between calls, by name."""
        return {}

    def place_of_kept(self, name: str) -> str:
        """Returns the location in the user's program that writes this state."""
        return self.name


@dataclass(frozen=True)
class Framework:
    """A framework. Its models are recognized without importing it."""

    name: str
    thing: str  # what users call a model of it
    file: str  # name of the exported file in errors; its suffix is the format
    example: str  # of an input, in Python
    is_its: Callable[[object], bool]
    open: Callable[[Any, Sequence[Any]], FrameworkModel]
    own_examples: Callable[[Any], tuple[Any, ...] | None] = lambda _: None  # examples stored in the model


def as_array(value: Any) -> Array:
    """Converts a framework's value to an array. Double becomes single precision."""
    array: Array = np.asarray(value)
    return array.astype(np.float32) if array.dtype == np.float64 else array


# Arguments that apply only to models of frameworks.


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
