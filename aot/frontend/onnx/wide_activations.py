"""Makes values of a quantized ONNX model 16 bits wide: 1/128 of the 8-bit step, zero point 0.

An operator that reads or computes such a value has 16 bits on all sides, as in TFLite's 16x8 models: 8-bit
inputs are widened, which loses nothing, and 8-bit outputs narrowed afterwards. A Relu or Clip that the
quantizer dropped, because the 8-bit range ends there, is restored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

from aot.ir.types import Array

_FINER = 128  # 255 steps of 8 bits are 32,640 of 16
_WEIGHTED = frozenset({"Conv", "Gemm", "MatMul"})
_PAIRS = frozenset({"Add", "Mul", "Sub"})
_MOVES = frozenset({"Flatten", "Reshape", "Squeeze", "Transpose", "Unsqueeze"})
# Their output has the step size of their input.
_SAME_STEPS = _MOVES | {"AveragePool", "Concat", "GlobalAveragePool", "MaxPool"}
_LIMITS = ("Clip", "Relu")
_KNOWN_LIMITS = ((0.0, 6.0), (-1.0, 1.0))  # of Clip
_DOMAIN = "com.microsoft"  # supports 16 bits in every opset


@dataclass(frozen=True, slots=True)
class Activations:
    """Values of equal width: moved elements keep their step size."""

    values: tuple[str, ...]
    op: str  # that computes the first; empty for an input
    is_end: bool  # an input or output of the model is among them


@dataclass(frozen=True, slots=True)
class _Rounded:
    """A value, its rounding to integers and its conversion back to floats."""

    name: str
    quantise: NodeProto
    real: NodeProto

    @property
    def made(self) -> str:
        return str(self.quantise.input[0])

    @property
    def read(self) -> str:
        return str(self.real.output[0])


class _Quantised:
    """A model of QDQ pairs, the producers and readers of their values, and the original float model."""

    def __init__(self, data: bytes, real: bytes) -> None:
        before = onnx.load_model_from_string(real).graph
        self.real_makers = {name: node for node in before.node for name in node.output}
        self.real_constants = {each.name: each for each in before.initializer}
        self.model = onnx.load_model_from_string(data)
        graph = self.model.graph
        self.inputs = {each.name for each in graph.input}
        self.outputs = {each.name for each in graph.output}
        self.constants = {each.name: each for each in graph.initializer}
        self.makers = {name: node for node in graph.node for name in node.output}
        self.readers: dict[str, list[NodeProto]] = {}
        for node in graph.node:
            for name in node.input:
                self.readers.setdefault(name, []).append(node)
        self.pairs = {pair.name: pair for node in graph.node for pair in self._pairs(node)}
        self.read = {pair.read: pair for pair in self.pairs.values()}
        self.made = {pair.made: pair for pair in self.pairs.values()}

    def _pairs(self, node: NodeProto) -> Iterator[_Rounded]:
        if node.op_type != "QuantizeLinear" or node.input[0] in self.constants:
            return
        readers = self.readers.get(node.output[0], [])
        if [each.op_type for each in readers] == ["DequantizeLinear"] and len(node.input) > 2:
            (real,) = readers
            name = real.output[0] if real.output[0] in self.outputs else node.input[0]
            if self.step(node).size == 1:
                yield _Rounded(name, node, real)

    def step(self, quantise: NodeProto) -> Array:
        found: Array = numpy_helper.to_array(self.constants[quantise.input[1]])
        return found

    def is_constant(self, name: str) -> bool:
        maker = self.makers.get(name)
        return name in self.constants or (
            maker is not None and maker.op_type == "DequantizeLinear" and maker.input[0] in self.constants
        )

    def is_input(self, name: str) -> bool:
        """Returns whether it is a float input of the model, moved or not."""
        maker = self.makers.get(name)
        return name in self.inputs or (
            maker is not None and maker.op_type in _MOVES and self.is_input(maker.input[0])
        )

    def may_be_wide(self, node: NodeProto) -> bool:
        """Returns whether there are 16-bit kernels, and all inputs and outputs are quantized."""
        if any(name not in self.made or not self._has_known_limits(name, node) for name in node.output):
            return False
        given = list(node.input)
        if node.op_type in _WEIGHTED:
            return given[0] in self.read and all(self.is_constant(name) for name in given[1:] if name)
        if node.op_type in _PAIRS or node.op_type == "Concat":
            return all(name in self.read for name in given)
        return node.op_type in _SAME_STEPS and given[0] in self.read

    def _has_known_limits(self, made: str, maker: NodeProto) -> bool:
        """Returns False if the limits of a result match no activation of a layer."""
        limits = self.limits(made, maker)
        if not limits or [each.op_type for each in limits] == ["Relu"]:
            return True
        if len(limits) > 1 or len(limits[0].input) < 3 or not all(limits[0].input):
            return False
        ends = [self.real_constants.get(name) for name in limits[0].input[1:]]
        return all(ends) and tuple(float(numpy_helper.to_array(end)) for end in ends) in _KNOWN_LIMITS

    def limits(self, made: str, maker: NodeProto) -> list[NodeProto]:
        """Returns the operators of the float model that the quantizer dropped after the producer."""
        found: list[NodeProto] = []
        limit = self.real_makers.get(self.made[made].name)
        while limit is not None and limit.op_type in _LIMITS and maker.op_type not in _LIMITS:
            found.insert(0, limit)
            limit = self.real_makers.get(limit.input[0])
        return found


def activations(data: bytes, real: bytes) -> tuple[Activations, ...]:
    """Returns the values that may have 16 bits, in order; `real` is the float model."""
    model = _Quantised(data, real)
    groups = _groups(model)
    return tuple(_activations(model, names) for names in groups if all(_is_made(model, n) for n in names))


def _activations(model: _Quantised, names: tuple[str, ...]) -> Activations:
    maker = model.makers.get(model.pairs[names[0]].made)
    pairs = [model.pairs[name] for name in names]
    is_end = any(model.is_input(pair.made) or pair.read in model.outputs for pair in pairs)
    return Activations(names, "" if maker is None else maker.op_type, is_end)


def _is_made(model: _Quantised, name: str) -> bool:
    made = model.pairs[name].made
    return model.is_input(made) or (made in model.makers and model.may_be_wide(model.makers[made]))


def _groups(model: _Quantised) -> Sequence[tuple[str, ...]]:
    """Returns the values, grouped by equal step size."""
    group = {name: [name] for name in model.pairs}
    for node in model.model.graph.node:
        if node.op_type not in _SAME_STEPS or not model.may_be_wide(node):
            continue
        together = group[model.made[node.output[0]].name]
        for pair in (model.read[name] for name in node.input if name in model.read):
            if group[pair.name] is not together:
                together[:0] = group[pair.name]
                group.update(dict.fromkeys(group[pair.name], together))
    return tuple({id(each): tuple(each) for each in group.values()}.values())


def widened(data: bytes, real: bytes, names: Collection[str]) -> bytes:
    """Returns the quantized model with these values in 16 bits; `real` is the float model."""
    return _Widening(_Quantised(data, real), frozenset(names)).data()


class _Widening:
    def __init__(self, model: _Quantised, wide: frozenset[str]) -> None:
        self.model, self.wide = model, wide
        self.added: dict[str, TensorProto] = {}
        self.steps = {
            name: max(float(model.step(model.pairs[each].quantise)) for each in names) / _FINER
            for names in _groups(model)
            for name in names
        }
        self.elements: dict[str, int] = {}  # of added values

    def data(self) -> bytes:
        graph = self.model.model.graph
        nodes = [made for node in graph.node for made in self._rewritten(node)]
        del graph.node[:]
        graph.node.extend(nodes)
        graph.initializer.extend(
            each for name, each in self.added.items() if name not in self.model.constants
        )
        # Shape inference does not know that domain, and readers need the values' element types.
        graph.value_info.extend(
            helper.make_tensor_value_info(name, element, None) for name, element in self.elements.items()
        )
        if not any(each.domain == _DOMAIN for each in self.model.model.opset_import):
            self.model.model.opset_import.append(helper.make_opsetid(_DOMAIN, 1))
        found: bytes = self.model.model.SerializeToString()
        return found

    def _is_wide(self, node: NodeProto | None) -> bool:
        """Returns whether the operator has 16 bits on all sides."""
        if node is None or not self.model.may_be_wide(node):
            return False
        touched = [self.model.read[name] for name in node.input if name in self.model.read]
        touched += [self.model.made[name] for name in node.output if name in self.model.made]
        return any(pair.name in self.wide for pair in touched)

    def _rewritten(self, node: NodeProto) -> Iterator[NodeProto]:
        if node.op_type == "DequantizeLinear" and node.output[0] in self.model.read:
            return  # written with its QuantizeLinear
        if node.op_type == "QuantizeLinear" and node.input[0] in self.model.made:
            yield from self._converted(self.model.made[node.input[0]])
            return
        copy = NodeProto()
        copy.CopyFrom(node)
        is_wide = self._is_wide(node)
        for place, name in enumerate(node.input):
            pair = self.model.read.get(name)
            if pair is not None and is_wide != (pair.name in self.wide):
                copy.input[place] = _other(pair)
        if not is_wide:
            yield copy
            return
        (result,) = node.output
        limits = self.model.limits(result, node)
        names = [*(f"{result}_before_{number}" for number in range(len(limits))), result]
        copy.output[0] = names[0]
        yield copy
        for limit, source, made in zip(limits, names, names[1:], strict=False):
            again = NodeProto()
            again.CopyFrom(limit)
            again.input[0], again.output[0] = source, made
            again.name = f"{made}_limit"
            self.added.update((name, self.model.real_constants[name]) for name in again.input[1:] if name)
            yield again

    def _converted(self, pair: _Rounded) -> Iterator[NodeProto]:
        """Yields the value in its width, and also in the other one if that is read."""
        readers = [self._is_wide(node) for node in self.model.readers.get(pair.read, [])]
        if pair.name in self.wide:
            yield from self._in_16_bits(pair, pair.made, pair.read)
            if not all(readers):
                yield from _in_8_bits(pair, pair.read, _other(pair), "_narrow")
            return
        source = pair.made
        if self._is_wide(self.model.makers.get(pair.made)):
            source = f"{pair.name}_fine"
            yield from self._in_16_bits(pair, pair.made, source)
        yield from _in_8_bits(pair, source, pair.read)
        if any(readers):
            yield from self._in_16_bits(pair, pair.read, _other(pair))

    def _in_16_bits(self, pair: _Rounded, source: str, result: str) -> Iterator[NodeProto]:
        scale, zero = f"{pair.name}_scale_16", f"{pair.name}_zero_point_16"
        step = np.array(self.steps[pair.name], np.float32)
        self.added[scale] = numpy_helper.from_array(step, scale)
        self.added[zero] = numpy_helper.from_array(np.array(0, np.int16), zero)
        integers = f"{result}_of_16_bits"
        self.elements |= {integers: TensorProto.INT16}
        if result not in self.model.outputs:
            self.elements |= {result: TensorProto.FLOAT}
        for op, given, made in (("QuantizeLinear", source, integers), ("DequantizeLinear", integers, result)):
            yield helper.make_node(op, [given, scale, zero], [made], f"{made}_{op}", domain=_DOMAIN)


def _other(pair: _Rounded) -> str:
    """Returns the name of the floats in the width that the value does not have."""
    return f"{pair.name}_in_the_other_width"


def _in_8_bits(pair: _Rounded, source: str, result: str, suffix: str = "") -> Iterator[NodeProto]:
    """Yields the original pair between these values."""
    quantise, real = NodeProto(), NodeProto()
    quantise.CopyFrom(pair.quantise)
    real.CopyFrom(pair.real)
    integers = f"{pair.quantise.output[0]}{suffix}"
    quantise.input[0], quantise.output[0] = source, integers
    real.input[0], real.output[0] = integers, result
    quantise.name, real.name = f"{quantise.name}{suffix}", f"{real.name}{suffix}"
    yield quantise
    yield real
