"""Keras models, converted by LiteRT's converter, which can also quantize them to int8."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from aot.distribution import pip_install
from aot.errors import InputError, MissingToolError, ToolError
from aot.ir.types import Array
from deploy.frameworks.framework import Framework, FrameworkModel, Sample, as_array, silent
from deploy.frameworks.user_lines import defined_at, last_users_frame, line_text

_PLACE = re.compile(r'"([^"]+?)@__inference')
_REASON = re.compile(r"error: (?:loc\(.*\): )?(?:error: )?(?P<what>'tf\.\w+' op [^\n]*)")
_UNNAMED = re.compile(r"keras_tensor(_\d+)?")
_NUMBERED = re.compile(r"output_(\d+)")
_LONGEST = 200  # maximum length of a converter's message


def _is_model(model: object) -> bool:
    keras = sys.modules.get("keras")
    return keras is not None and isinstance(model, keras.Model)


class _KerasModel(FrameworkModel):
    """A model with an open batch size, which is set to the example's."""

    def __init__(self, model: Any, examples: Sequence[Any]) -> None:
        self._model = model
        first, *more = examples
        if isinstance(first, Mapping) and not more:
            examples = self._in_order(first)
        self._examples = [np.asarray(each) for each in examples]

    @property
    def name(self) -> str:
        return str(self._model.name)

    @property
    def input_names(self) -> Mapping[str, str]:
        return dict(zip(self._names(), self.inputs, strict=False))

    @property
    def examples(self) -> Sequence[Any]:
        return self._examples

    def exported(self) -> bytes:
        return self._converted(None)

    def in_integers(self, samples: Sequence[Sample]) -> bytes:
        """Returns the model with int8 weights and activations, and float inputs and outputs."""
        return self._converted(samples)

    def outputs(self, sample: Sample) -> list[Array]:
        values = [np.asarray(array) for array in sample.values()]
        import keras

        outputs = self._model(values if len(values) > 1 else values[0], training=False)
        return [as_array(each) for each in keras.tree.flatten(outputs)]

    def outputs_in_sequence(self, samples: Sequence[Sample]) -> list[list[Array]]:
        """Returns the outputs of consecutive runs. Layers with `stateful=True` end in the state they had."""
        kept = self.kept_values()
        try:
            return super().outputs_in_sequence(samples)
        finally:
            for name, variable in self._kept():
                variable.assign(kept[name])

    def kept_values(self) -> Mapping[str, Array]:
        return {name: variable.numpy() for name, variable in self._kept()}

    def place_of_kept(self, name: str) -> str:
        return f"{self.name}, layer {name.partition('.')[0]}"

    def _kept(self) -> Iterator[tuple[str, Any]]:
        """Yields the variables that a call may change, with names: states of recurrent layers, counters."""
        import keras

        for layer in self._model._flatten_layers():
            if layer is not self._model:
                states = keras.tree.flatten(getattr(layer, "states", None) or ())
                for number, variable in enumerate((*layer.non_trainable_variables, *states)):
                    yield f"{layer.name}.{variable.name}#{number}", variable

    def _converted(self, samples: Sequence[Sample] | None) -> bytes:
        try:
            import tensorflow as tf
        except ImportError as error:
            raise MissingToolError(
                "Keras' models are converted by TensorFlow, which is not installed",
                self.name,
                pip_install("keras"),
            ) from error
        try:
            with silent():
                converter = tf.lite.TFLiteConverter.from_keras_model(self._at_its_sizes())
                if samples is not None:
                    converter.optimizations = [tf.lite.Optimize.DEFAULT]
                    converter.representative_dataset = lambda: (list(each.values()) for each in samples)
                return self._as_the_model_names(converter.convert())
        except Exception as error:  # any exception is about this model
            raise self._refused(error) from error

    def _as_the_model_names(self, data: bytes) -> bytes:
        """Returns the file with the names and the order of the model's inputs and outputs.

        The converter calls outputs StatefulPartitionedCall:1 and orders them otherwise; its signature knows
        them as output_0, output_1 or by the keys of a dict. Inputs that have no name in the model, but a
        number that grows with each model of the process, get their place as the number.
        """
        from tensorflow.lite.tools import flatbuffer_utils

        file = flatbuffer_utils.convert_bytearray_to_object(bytearray(data))
        if len(file.signatureDefs or ()) != 1:
            return data
        (signature,), graph, names = file.signatureDefs, file.subgraphs[0], self._names()
        inputs, outputs = (
            {each.name.decode(): each.tensorIndex for each in tensors}
            for tensors in (signature.inputs, signature.outputs)
        )
        if sorted(outputs.values()) != sorted(map(int, graph.outputs)):
            return data
        ordered = sorted(outputs, key=_by_number)
        graph.outputs = [outputs[name] for name in ordered]
        if {*names} == {*inputs}:
            graph.inputs = [inputs[name] for name in names]
            for place, name in enumerate(names):
                graph.tensors[inputs[name]].name = f"input_{place}" if _UNNAMED.fullmatch(name) else name
        for index, name in zip(graph.outputs, self._output_names(ordered), strict=True):
            graph.tensors[index].name = name
        return bytes(flatbuffer_utils.convert_object_to_bytearray(file))

    def _output_names(self, of_signature: Sequence[str]) -> Sequence[str]:
        """Returns the keys of a dict, or the names of the layers that compute the outputs."""
        if not all(_NUMBERED.fullmatch(name) for name in of_signature):
            return of_signature
        layers = getattr(self._model, "layers", None) or ()
        names = getattr(self._model, "output_names", None) or [layer.name for layer in layers[-1:]]
        are_names = len(names) == len({*names}) == len(of_signature)
        return names if are_names else of_signature

    def _in_order(self, example: Mapping[str, Any]) -> list[Any]:
        """Returns the examples of the inputs from a dict with their names. Raises InputError."""
        names = self._names()
        if {*example} != {*names}:
            given, known = (", ".join(map(str, each)) or "none" for each in (example, names))
            raise InputError(
                f"the example has arrays for {given}, the model has the inputs {known}",
                self.name,
                "give one array for each input, or a tuple in their order",
            )
        return [example[name] for name in names]

    def _names(self) -> list[str]:
        return [each.name for each in getattr(self._model, "inputs", None) or ()]

    def _at_its_sizes(self) -> Any:
        """Returns the model with open sizes replaced by those of the examples."""
        import keras

        names: list[str | None] = [*self._names()]
        names += [None] * (len(self._examples) - len(names))
        inputs = [
            keras.Input(each.shape[1:], batch_size=each.shape[0], dtype=each.dtype.name, name=name)
            for each, name in zip(self._examples, names, strict=True)
        ]
        return keras.Model(inputs, self._model(inputs if len(inputs) > 1 else inputs[0], training=False))

    def _refused(self, error: Exception) -> ToolError:
        text = str(error)
        found = _REASON.search(text)
        says = found["what"] if found else (text or type(error).__name__).splitlines()[0][:_LONGEST]
        place = self.place_of(text)
        frame = last_users_frame(error)
        if not place and frame is not None:
            place = line_text(frame[0].f_code.co_filename, frame[1])
        where = f"{self.name}, {place}" if place else self.name
        return ToolError("LiteRT's converter cannot convert the model", where, f"it reports: {says}")

    def place_of(self, told: str) -> str:
        """Returns the layer named in a message, and the line of its class's call method."""
        paths = {part for path in _PLACE.findall(told) for part in path.split("/")}
        for layer in self._model._flatten_layers():
            if layer is not self._model and any(_is_named(part, layer.name) for part in paths):
                line = defined_at(type(layer).call)
                return ", ".join(filter(None, (f"layer {layer.name} ({type(layer).__name__})", line)))
        return ""


def _by_number(name: str) -> tuple[int, str]:
    found = _NUMBERED.fullmatch(name)
    return (int(found[1]), "") if found else (0, name)


def _is_named(part: str, name: str) -> bool:
    return re.fullmatch(rf"{re.escape(name)}(_\d+)*", part) is not None


KERAS = Framework("Keras", "model", "keras_model.tflite", "np.zeros((1, 32, 32, 3))", _is_model, _KerasModel)
