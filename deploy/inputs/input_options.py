"""Options for a model's inputs, in addition to the arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from aot.errors import InputError
from aot.fronts.attach import declared_rate
from aot.ir.tensor_spec import TensorSpec
from aot.ir.types import Array
from codegen.option_entry import Option, option, options_of
from codegen.option_kinds import Choice, OnOff
from deploy.cli.console import print_error
from deploy.inputs.recordings import SUFFIX

if TYPE_CHECKING:
    from deploy.inputs.samples import Samples


class Fill(Enum):
    """Values of inputs that are not given."""

    RANDOM = "random"
    ZEROS = "zeros"


@dataclass(frozen=True, slots=True)
class DataOptions:
    """Options for the inputs of a run, in addition to the arrays."""

    fill: Fill | None = option(
        None,
        Choice[Fill | None]({fill.value: fill for fill in Fill}),
        "--fill",
        "Use generated inputs. random is the same each time",
        group="Inputs and outputs",
        is_main=True,
    )
    quantize: bool = option(
        False,
        OnOff(),
        "--quantize",
        "Quantize float inputs with the model's scales",
        group="Inputs and outputs",
        is_main=True,
    )


DATA: Mapping[str, Option] = {each.name: each for each in options_of(DataOptions)}  # by keyword


def read_data(
    path: Path | None,
    data: DataOptions,
    specs: Sequence[TensorSpec],
    filled: int,
    fill: Fill | None = None,
    front: str | None = None,
) -> Samples:
    """Returns the samples in a file, or `filled` generated ones, as chosen by the user or else the caller.

    A WAV file must be the model's only input and have the sample rate of its front end, if declared.
    """
    arrays = None if path is None else _arrays(path, front)
    if path is not None and path.suffix.lower() == SUFFIX and not any(s.dtype == np.int16 for s in specs):
        raise InputError(
            f"a WAV file has int16 samples, the model needs {', '.join(map(str, specs))}",
            str(path),
            "--front NAME computes features of sound, such as tf.signal.mfcc: deploy docs front-ends",
        )
    return make_data(arrays, data, specs, filled, fill, path.name if path else "inputs")


def _arrays(path: Path, front: str | None) -> Mapping[str, Array]:
    from deploy.inputs.recordings import read_wav
    from deploy.inputs.samples import read_arrays

    if path.suffix.lower() != SUFFIX:
        return read_arrays(path)
    return {"input_0": read_wav(path, declared_rate(front) if front else None)}


def make_data(
    arrays: Mapping[str, Array] | None,
    data: DataOptions,
    specs: Sequence[TensorSpec],
    filled: int,
    fill: Fill | None = None,
    where: str = "inputs",
) -> Samples:
    """Returns samples from arrays by name. Raises InputError if there are none and no fill is chosen."""
    from deploy.inputs.data_doubts import range_doubts
    from deploy.inputs.quantized_values import as_integers
    from deploy.inputs.samples import make_samples

    if arrays is not None and data.fill is not None:
        raise InputError(
            f"--inputs and --fill {data.fill.value} exclude each other", where, "omit one of them"
        )
    if arrays is None:
        return _filled(data.fill or fill, specs, filled)
    if not data.quantize:
        return make_samples(arrays, specs, where)
    for doubt in range_doubts(arrays, specs):
        print_error(f"warning: {doubt}")
    return make_samples(as_integers(arrays, specs), specs, where)


def _filled(fill: Fill | None, specs: Sequence[TensorSpec], count: int) -> Samples:
    from deploy.inputs.samples import Samples, random_samples

    if fill is None:
        raise InputError("no inputs", hint="add --inputs IN.npz, --fill random or --fill zeros")
    if fill is Fill.RANDOM:
        return random_samples(specs, count)
    zeros = tuple(np.zeros(spec.shape, spec.dtype) for spec in specs)
    return Samples((zeros,) * count, is_series=True)
