"""Recurrent operators in the forms that TensorFlow 1 and older converters write, and FAKE_QUANT."""

from collections.abc import Iterator

import numpy as np
from tflite_builder import ModelBuilder

from aot.frontend.tflite.read import read_tflite
from aot.frontend.tflite.write_file import FileTensor
from aot.ir.graph import Graph

STEPS, DEPTH, UNITS = 5, 3, 4
RNG = np.random.default_rng(3)


class Parts:
    """Constants and states of a recurrent operator, by name."""

    def __init__(self, build: ModelBuilder, is_hybrid: bool = False) -> None:
        self.build, self.is_hybrid, self.count, self.rng = build, is_hybrid, 0, RNG

    def constant(self, *sizes: int, factor: float = 1.0) -> str:
        self.count += 1
        array = (factor * self.rng.standard_normal(sizes)).astype(np.float32)
        if not self.is_hybrid or len(sizes) < 2:
            return self.build.constant(f"k{self.count}", array)
        scale = float(np.abs(array).max()) / 127
        steps = np.round(array / scale).astype(np.int8)
        return self.build.constant(f"k{self.count}", steps, (scale,))

    def state(self, count: int, units: int) -> str:
        self.count += 1
        tensor = FileTensor(f"s{self.count}", (count, units), "float32", is_variable=True)
        return self.build._add(tensor)


def gates(parts: Parts, form: str, seed: int) -> list[str | None]:
    """Returns the inputs of one direction: weights, peepholes, biases, projection."""
    parts.rng = np.random.default_rng(seed)
    tied, size = "tied" in form, UNITS - 1 if "projection" in form else UNITS
    first = [None] if tied else []
    count = 4 - tied
    weights = [*first, *(parts.constant(UNITS, DEPTH) for _ in range(count))]
    hidden = [*first, *(parts.constant(UNITS, size) for _ in range(count))]
    holes: list[str | None] = [None] * 3
    if "peepholes" in form:
        holes = [*first, *(parts.constant(UNITS) for _ in range(3 - tied))]
    biases = [*first, *(parts.constant(UNITS) for _ in range(count))]
    projection = parts.constant(size, UNITS) if "projection" in form else None
    return [*weights, *hidden, *holes, *biases, projection, None]


def lstm_of(form: str, count: int = 2, activation: int = 4, seed: int = 7) -> bytes:
    build = ModelBuilder()
    parts, size = Parts(build, "int8" in form), UNITS - 1 if "projection" in form else UNITS
    is_step, is_both = form.startswith("step"), form.startswith("both")
    shape = (count,) if is_step else (count, STEPS)
    x = build.input("x", (*shape, DEPTH), dtype="float32")
    ways = [gates(parts, form, seed + way) for way in range(1 + is_both)]
    states = [(parts.state(count, size), parts.state(count, UNITS)) for _ in ways]
    inputs = [x, *(each for way in ways for each in way), *(each for pair in states for each in pair)]
    inputs += [None] * (9 if is_both else 4)
    is_merged = "merged" in form
    outputs = [FileTensor("y", (*shape, size * (1 + is_merged)), "float32")]
    outputs += [FileTensor("z", (*shape, size), "float32")] if is_both and not is_merged else []
    code = "LSTM" if is_step else "BIDIRECTIONAL_SEQUENCE_LSTM" if is_both else "UNIDIRECTIONAL_SEQUENCE_LSTM"
    name = {"LSTM": "LSTM", "BIDIRECTIONAL_SEQUENCE_LSTM": "BidirectionalSequenceLSTM"}
    options = f"{name.get(code, 'UnidirectionalSequenceLSTM')}Options"
    more = {"MergeOutputs": is_merged, "TimeMajor": False} if is_both else {}
    build.operator(code, 1, inputs, outputs, options, FusedActivationFunction=activation, **more)
    return build.finish(*(output.name for output in outputs))


def rnn_of(form: str, activation: int = 4) -> bytes:
    build, count = ModelBuilder(), 2
    parts, is_step, is_both = Parts(build, "int8" in form), form.startswith("step"), form.startswith("both")
    is_major = "time" in form
    shape = (count,) if is_step else (STEPS, count) if is_major else (count, STEPS)
    x = build.input("x", (*shape, DEPTH), dtype="float32")
    inputs: list[str | None] = [x]
    for _ in range(1 + is_both):
        weights = (
            parts.constant(UNITS, DEPTH),
            parts.constant(UNITS, UNITS, factor=0.5),
            parts.constant(UNITS),
        )
        inputs += [*weights, parts.state(count, UNITS)]
    inputs += [None] * (3 if is_both else 0)
    is_merged = "merged" in form
    outputs = [FileTensor("y", (*shape, UNITS * (1 + is_merged)), "float32")]
    outputs += [FileTensor("z", (*shape, UNITS), "float32")] if is_both and not is_merged else []
    code = "RNN" if is_step else "BIDIRECTIONAL_SEQUENCE_RNN" if is_both else "UNIDIRECTIONAL_SEQUENCE_RNN"
    options = (
        "RNNOptions" if is_step else "BidirectionalSequenceRNNOptions" if is_both else "SequenceRNNOptions"
    )
    more = {} if is_step else {"TimeMajor": is_major}
    more |= {"MergeOutputs": is_merged} if is_both else {}
    build.operator(code, 1, inputs, outputs, options, FusedActivationFunction=activation, **more)
    return build.finish(*(output.name for output in outputs))


def fake_quant(low: float = -0.7, high: float = 2.3, bits: int = 8, is_narrow: bool = False) -> bytes:
    build = ModelBuilder()
    x = build.input("x", (1, 300), dtype="float32")
    fields = {"Min": low, "Max": high, "NumBits": bits, "NarrowRange": is_narrow}
    output = FileTensor("y", (1, 300), "float32")
    return build.finish(build.operator("FAKE_QUANT", 1, [x], [output], "FakeQuantOptions", **fields))


def recurrent_models() -> Iterator[Graph]:
    """One of each operator."""
    files = [lstm_of(form) for form in ("step", "", "both")] + [
        rnn_of(form) for form in ("step", "rnn", "both")
    ]
    for data in (*files, fake_quant()):
        yield read_tflite(data, "net.tflite")
