"""The user's samples in a report: their classes, an optional float model, and the model's accuracy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aot.errors import InputError
from aot.ir.graph import Graph
from aot.ir.tensor_spec import TensorSpec
from aot.ir.types import Array, DType, TensorType
from codegen.job import ImportedModel
from deploy.inputs.input_options import DataOptions, make_data
from deploy.inputs.samples import Samples, make_samples
from deploy.reporting.layer_values import MOST_SAMPLES, real_numbers
from deploy.verification.compare_layers import reference_outputs
from deploy.verification.quality import LABELS, Accuracy, Truth, accuracy_of, require_truth


@dataclass(frozen=True)
class GivenData:
    """The samples, with classes and a float model if given."""

    samples: Samples
    as_given: Samples  # not quantized, because clamping may have changed values
    labels: Array | None = None
    float_model: ImportedModel | None = None


@dataclass(frozen=True)
class OnData:
    """The model's accuracy on the samples; computed by the reference, so it is the same on every board."""

    samples: int
    accuracy: Accuracy | None = None
    float_name: str | None = None
    float_accuracy: float | None = None

    def as_json(self) -> dict[str, Any]:
        found = self.accuracy
        return {
            "samples": self.samples,
            "samples_watched": min(self.samples, MOST_SAMPLES),
            "accuracy": found and found.reference,
            "confusion": [
                {"label": label, "found": answer, "samples": count}
                for label, answer, count in (found.confusion if found else ())
            ],
            "float_model": self.float_name,
            "float_accuracy": self.float_accuracy,
        }


def give_data(
    arrays: Mapping[str, Array],
    quantize: bool,
    inputs: Sequence[TensorSpec],
    outputs: Sequence[TensorSpec],
    where: str,
    float_model: ImportedModel | None = None,
) -> GivenData:
    """Reads inputs by name and "labels" for their classes. Raises InputError if they are inconsistent."""
    of_inputs = {name: array for name, array in arrays.items() if name != LABELS}
    samples = make_data(of_inputs, DataOptions(quantize=quantize), inputs, 1, where=where)
    labels = np.asarray(arrays[LABELS]) if LABELS in arrays else None
    require_truth(Truth(labels), len(samples), outputs)
    if float_model is not None:
        _require_alike(float_model.graph, inputs)
    as_given = samples
    if quantize:
        specs = [_as_given(spec, number, of_inputs) for number, spec in enumerate(inputs)]
        as_given = make_samples(of_inputs, specs, where)
    return GivenData(samples, as_given, labels, float_model)


def _as_given(spec: TensorSpec, number: int, arrays: Mapping[str, Array]) -> TensorSpec:
    """Returns a float spec for an input given in floats."""
    array = np.asarray(arrays.get(spec.name, arrays.get(f"input_{number}")))
    return TensorSpec(spec.name, TensorType(DType.F32, spec.shape)) if array.dtype.kind == "f" else spec


def on_data(graph: Graph, data: GivenData) -> OnData:
    """Runs the model and the float model on all samples."""
    real = data.float_model
    if data.labels is None:
        return OnData(len(data.samples), float_name=real.source_name if real else None)
    outputs = reference_outputs(graph, data.samples)
    found = OnData(len(data.samples), accuracy_of(data.labels, outputs, outputs))
    if real is None:
        return found
    theirs = reference_outputs(real.graph, as_floats(graph, data.as_given))
    accuracy = accuracy_of(data.labels, theirs, theirs)
    return OnData(len(data.samples), found.accuracy, real.source_name, accuracy.reference)


def as_floats(graph: Graph, samples: Samples) -> Samples:
    """Dequantizes samples of a quantized model; floats are unchanged."""
    each = (
        tuple(
            array if array.dtype.kind == "f" else real_numbers(graph.types[name], array).astype(np.float32)
            for name, array in zip(graph.inputs, sample, strict=True)
        )
        for sample in samples.each
    )
    return Samples(tuple(each), samples.is_series, samples.is_batch)


def _require_alike(graph: Graph, inputs: Sequence[TensorSpec]) -> None:
    theirs = [graph.types[name] for name in graph.inputs]
    if any(each.dtype.is_integer for each in theirs):
        raise InputError("the --float-model is itself quantized", hint="give the model before quantization")
    sizes, wanted = [each.elements for each in theirs], [spec.type.elements for spec in inputs]
    if sizes != wanted:
        raise InputError(
            f"the float model's inputs have {sizes} elements, this model's {wanted}",
            hint="both must be the same network",
        )
