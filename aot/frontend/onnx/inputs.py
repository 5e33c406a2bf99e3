"""Reads the inputs of a file: the user gives open sizes; missing ones are all reported at once.

If only batch sizes are open, they become 1; `open_batches` lists them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, ValueInfoProto

from aot.errors import ModelError
from aot.frontend.builder import MAX_TENSOR_BYTES, too_large
from aot.frontend.onnx.elements import stored_type
from aot.frontend.onnx.errors import LeftOpenError, Refused
from aot.ir.types import Array, TensorType

# Describes sizes that a file leaves open: a command-line option for all of them, guesses marked.


_BATCHES = ("batch", "bs", "n", "b")
_NO_NAME = ("", "none", "?")
_INVENTED = "unk__"  # prefix of tf2onnx's name for an unnamed size
_IMAGE_SIZE, _CHANNELS, _STEPS = 224, 3, 512
_NO_SHAPE = ("1", str(_CHANNELS), str(_IMAGE_SIZE), str(_IMAGE_SIZE))


@dataclass(frozen=True)
class InputSizes:
    """The sizes of one input: a number, a name, or None if unknown; None for an input without a shape."""

    name: str
    each: tuple[int | str, ...] | None

    @staticmethod
    def of(info: onnx.ValueInfoProto) -> InputSizes:
        tensor = info.type.tensor_type
        if not tensor.HasField("shape"):
            return InputSizes(info.name, None)
        return InputSizes(info.name, tuple(_size(dimension) for dimension in tensor.shape.dim))


def _size(dimension: onnx.TensorShapeProto.Dimension) -> int | str:
    is_known = dimension.WhichOneof("value") == "dim_value" and dimension.dim_value >= 0
    return int(dimension.dim_value) if is_known else str(dimension.dim_param)


def is_batch(name: str) -> bool:
    """Returns whether the first size, of this name, must be the batch."""
    return name.lower() in _NO_NAME or name.startswith(_INVENTED) or _names_a_batch(name)


def _names_a_batch(name: str) -> bool:
    return name.lower() in _BATCHES or "batch" in name.lower()


def size_options(inputs: Sequence[InputSizes]) -> str:
    """Formats an input's sizes for the command line: --shape image=1,3,224,224."""
    guessed = _guessed(inputs)
    return " ".join(f"--shape {x.name}={','.join(_numbers(x, guessed))}" for x in inputs)


def sizes_hint(inputs: Sequence[InputSizes]) -> str:
    """Returns the options, with a line for the sizes that only the user knows."""
    named = {name: size for name, size in _guessed(inputs).items() if size != 1}
    lines = [
        f'"{name}" = {size} is a guess: use the size that you run the model with'
        for name, size in named.items()
    ]
    unknown = [x.name for x in inputs if _has_guess_without_name(x)]
    lines += [
        f'the sizes of "{name}" are guesses: use the sizes that you run the model with' for name in unknown
    ]
    return "\n".join([f"set them: {size_options(inputs)}", *lines])


def _guessed(inputs: Iterable[InputSizes]) -> dict[str, int]:
    """Returns a guess for each name, the same at each occurrence."""
    guessed: dict[str, int] = {}
    for name, size in _guesses(inputs):
        if name:
            guessed[name] = min(size, guessed.get(name, size))
    return guessed


def _guesses(inputs: Iterable[InputSizes]) -> Iterator[tuple[str, int]]:
    for x in inputs:
        for place, size in enumerate(x.each or ()):
            if isinstance(size, str):
                yield size, _guess(size, place, len(x.each or ()))


def _guess(name: str, place: int, rank: int) -> int:
    """Guesses the batch for the first dimension, and an image with channels first for four dimensions."""
    if place == 0 or _names_a_batch(name):
        return 1
    if rank == 4:
        return _CHANNELS if place == 1 else _IMAGE_SIZE
    return _STEPS


def _numbers(x: InputSizes, guessed: dict[str, int]) -> Sequence[str]:
    if x.each is None:
        return _NO_SHAPE
    rank = len(x.each)
    return [
        str(size if isinstance(size, int) else guessed.get(size) or _guess(size, place, rank))
        for place, size in enumerate(x.each)
    ]


def _has_guess_without_name(x: InputSizes) -> bool:
    return x.each is None or "" in x.each[1:]


Shapes = Mapping[str, tuple[int, ...]]
Tensor = onnx.TypeProto.Tensor


@dataclass(frozen=True)
class Input:
    """An input of the file; `array` is its fixed value, if any."""

    name: str
    element: int
    tensor: TensorType
    array: Array | None = None


def inputs_of(
    graph: onnx.GraphProto, constants: set[str], shapes: Shapes, values: Mapping[str, Array], refused: Refused
) -> Iterator[Input]:
    """Returns the inputs in order, without constants that older files list as inputs, and refused ones.

    If only the batch of each is open, it is 1. It is also 1 while the rest of a refused file is checked.
    """
    infos = [info for info in graph.input if info.name not in constants]
    names = [info.name for info in infos]
    for given in (*shapes, *values):
        if given not in names:
            lines = [f"inputs: {', '.join(names)}", *_way_for_size(given, infos)]
            raise ModelError(f'there is no input "{given}"', refused.file_name, "\n".join(lines))
    opened = _left_open(infos, {*shapes, *values})
    if not all(map(_leaves_batch_open, opened)):
        refused.add(_open_sizes(opened, refused.file_name))
    for info in infos:
        try:
            _require_tensor(info, names, refused.file_name)
            if info not in opened or _leaves_first_open(info):
                yield _input(info, shapes, values, refused.file_name)
        except ModelError as error:
            refused.add(error)


def _way_for_size(given: str, infos: Sequence[onnx.ValueInfoProto]) -> Iterator[str]:
    """Yields how to set the inputs that have a size of this name, or of the first name in N=1,T."""
    size = given.partition("=")[0]
    named = [
        info for info in infos if size in {dim.dim_param for dim in info.type.tensor_type.shape.dim} - {""}
    ]
    if named:
        yield f'"{size}" is a size: give all sizes of its input at once'
        yield sizes_hint([InputSizes.of(info) for info in named])


def open_batches(data: bytes, given: Collection[str]) -> tuple[str, ...]:
    """Returns the inputs whose batch the file leaves open and whose shape is not given."""
    graph = onnx.ModelProto.FromString(data).graph
    constants = {tensor.name for tensor in graph.initializer}
    infos = [info for info in graph.input if info.name not in constants]
    return tuple(info.name for info in _left_open(infos, given))


def _left_open(infos: Sequence[onnx.ValueInfoProto], given: Collection[str]) -> list[onnx.ValueInfoProto]:
    return [info for info in infos if info.name not in given and _is_open(info)]


def _input(info: onnx.ValueInfoProto, shapes: Shapes, values: Mapping[str, Array], file_name: str) -> Input:
    element = info.type.tensor_type.elem_type
    dtype = stored_type(element, f'input "{info.name}" ({file_name})')
    if info.name in values:
        array = _fixed(info, values[info.name].astype(dtype.numpy), file_name)
        return Input(info.name, element, TensorType(dtype, array.shape), array)
    shape = _shape(info, shapes, file_name)
    if TensorType(dtype, shape).bytes > MAX_TENSOR_BYTES:
        raise ModelError(too_large(f'input "{info.name}"', TensorType(dtype, shape)), file_name)
    # There is only one such tensor without elements, so users need not give it.
    only = np.zeros(shape, dtype.numpy) if 0 in shape else None
    return Input(info.name, element, TensorType(dtype, shape), only)


def _require_tensor(info: onnx.ValueInfoProto, names: list[str], file_name: str) -> None:
    if names.count(info.name) > 1:
        raise ModelError(f'two inputs are called "{info.name}"', file_name, "get or export the file again")
    kind = (info.type.WhichOneof("value") or "value").split("_")[0]
    if kind == "sequence":
        raise LeftOpenError(
            f'input "{info.name}" is a sequence: its number of tensors must be known',
            file_name,
            f'set it: --shape {info.name}=1 for one, the input "{info.name}_0"',
            f"--shape {info.name}=1",
        )
    if kind != "tensor":
        raise ModelError(
            f'input "{info.name}" is a {kind}, only tensors are supported',
            file_name,
            "export the model with tensors only",
        )


def _open_sizes(infos: list[onnx.ValueInfoProto], file_name: str) -> LeftOpenError:
    shown = " and ".join(f'"{info.name}" has the shape [{_dims(info)}]' for info in infos)
    sizes = [InputSizes.of(info) for info in infos]
    all_sizes = "all its sizes" if len(infos) == 1 else "all their sizes"
    return LeftOpenError(
        f"input {shown}: {all_sizes} must be known",
        file_name,
        sizes_hint(sizes),
        size_options(sizes),
    )


def _is_open(info: onnx.ValueInfoProto) -> bool:
    is_tensor = info.type.WhichOneof("value") == "tensor_type"
    return is_tensor and (None in _declared(info) or not _has_shape(info))


def _leaves_batch_open(info: onnx.ValueInfoProto) -> bool:
    """Returns whether only the first of several sizes is open, and named like a batch or not at all."""
    dims = info.type.tensor_type.shape.dim
    return len(dims) > 1 and _leaves_first_open(info) and is_batch(dims[0].dim_param)


def _leaves_first_open(info: onnx.ValueInfoProto) -> bool:
    first, *others = _declared(info) or [None, None]
    return first is None and None not in others


def _has_shape(info: onnx.ValueInfoProto) -> bool:
    return bool(info.type.tensor_type.HasField("shape"))


def _declared(info: onnx.ValueInfoProto) -> list[int | None]:
    """Returns the declared sizes; None for open ones."""
    dims = info.type.tensor_type.shape.dim
    known = (d.dim_value if d.WhichOneof("value") == "dim_value" else None for d in dims)
    return [None if size is None or size < 0 else size for size in known]


def _fixed(info: onnx.ValueInfoProto, array: Array, file_name: str) -> Array:
    """Returns a fixed value in the declared shape, if there is one."""
    sizes = [-1 if size is None else size for size in _declared(info)]
    if not _has_shape(info) or sizes.count(-1) > 1 or array.ndim not in (0, 1):
        return array
    try:
        return array.reshape(sizes)
    except ValueError:
        what = f'{array.size} values were given for input "{info.name}" of shape [{_dims(info)}]'
        raise ModelError(what, file_name) from None


def _shape(info: onnx.ValueInfoProto, shapes: Shapes, file_name: str) -> tuple[int, ...]:
    declared, given = _declared(info), shapes.get(info.name)
    if given is None:
        return tuple(1 if size is None else size for size in declared)
    fits = len(given) == len(declared) and all(
        d in (None, 0, g) for d, g in zip(declared, given, strict=False)
    )
    if _has_shape(info) and not fits:
        raise ModelError(
            f'shape {list(given)} for input "{info.name}" does not fit [{_dims(info)}]', file_name
        )
    return given


def _dims(info: onnx.ValueInfoProto) -> str:
    if not _has_shape(info):
        return "unknown"
    dims = info.type.tensor_type.shape.dim
    return ", ".join(d.dim_param or str(size or "?") for d, size in zip(dims, _declared(info), strict=True))


# Converts sequence and optional inputs to tensors; the user gives the length of each sequence.


_MOST_TENSORS = 4096  # in one sequence


def with_tensor_inputs(
    model: ModelProto, shapes: Shapes, values: Collection[str], file_name: str
) -> tuple[ModelProto, Shapes]:
    """Replaces a sequence by as many inputs as its given length; keeps an optional input if it is given.

    The returned shapes belong to inputs of the returned model.
    """
    if all(info.type.HasField("tensor_type") for info in model.graph.input):
        return model, shapes
    opened = _Opened(dict(shapes), frozenset(values), file_name)
    inputs = [found for info in model.graph.input for found in opened.inputs_of(info)]
    whole = ModelProto()
    whole.CopyFrom(model)
    del whole.graph.input[:]
    whole.graph.input.extend(inputs)
    whole.graph.node.extend(opened.nodes)
    return whole, opened.shapes


@dataclass
class _Opened:
    shapes: dict[str, tuple[int, ...]]  # without the lengths
    values: frozenset[str]
    file_name: str
    nodes: list[NodeProto] = field(default_factory=list)

    def inputs_of(self, info: ValueInfoProto) -> Iterator[ValueInfoProto]:
        kind, name = info.type.WhichOneof("value"), info.name
        if kind == "optional_type":
            if name in self.shapes or name in self.values:
                yield from self.inputs_of(_named(name, info.type.optional_type.elem_type))
            else:
                self.nodes.append(onnx.helper.make_node("Optional", [], [name]))
        elif kind == "sequence_type" and name in self.shapes:
            elements = [f"{name}_{number}" for number in range(self._length(name))]
            operator = "SequenceConstruct" if elements else "SequenceEmpty"
            self.nodes.append(onnx.helper.make_node(operator, elements, [name]))
            for element in elements:
                yield from self.inputs_of(_named(element, info.type.sequence_type.elem_type))
        else:
            yield info

    def _length(self, name: str) -> int:
        given = self.shapes.pop(name)
        if len(given) != 1 or given[0] > _MOST_TENSORS:
            raise ModelError(
                f'the shape {list(given)} for "{name}" is not the length of a sequence, '
                f"up to {_MOST_TENSORS:,} tensors are supported",
                self.file_name,
                f"set its number of tensors:  --shape {name}=3",
            )
        return given[0]


def _named(name: str, kind: onnx.TypeProto) -> ValueInfoProto:
    return onnx.helper.make_value_info(name, kind)
