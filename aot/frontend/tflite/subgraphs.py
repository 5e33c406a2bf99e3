"""Adds the subgraphs of a TFLite file to the draft: tensors, then one importer call per operator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import prod

import numpy as np
import tflite

from aot.errors import ModelError
from aot.frontend.builder import MAX_TENSOR_BYTES
from aot.frontend.tflite.draft import TfliteDraft
from aot.frontend.tflite.flatbuffer import MAX_SHARING
from aot.frontend.tflite.importers import IMPORTERS
from aot.frontend.tflite.importers.variables import require_tensors
from aot.frontend.tflite.model_file import ModelFile, Subgraph, short_name
from aot.frontend.tflite.operation import TfliteOperator
from aot.frontend.tflite.tensors import DTYPES, read_tensor, tensor_name
from aot.frontend.tflite.unsigned import is_unsigned, signed
from aot.ir.types import Array

# Derives shapes from an operator's inputs if the file declares others.
#
# Interpreters compute the shapes of all results at run time. Converters leave stale shapes around
# SPACE_TO_BATCH_ND, and 1 for each unknown size after a RESHAPE to a computed shape. These operators give the
# shapes of their results; after them, so do the operators in the table.


Shape = tuple[int, ...]


def restate(node: TfliteOperator) -> None:
    """Gives the result its computed shape; inconsistent operands are left to the importer to report."""
    if len(node.outputs) != 1 or not node.inputs or node.inputs[0] is None:
        return
    (output,), x = node.outputs, node.inputs[0]
    shape_of = _TOLD.get(node.code)
    if shape_of is None and any(_is_restated(node, name) for name in node.inputs):
        shape_of = _FOLLOWS.get(node.code)
    if shape_of is None or x not in node.draft.types or output not in node.draft.types:
        return
    declared, shape = node.tensor(output), shape_of(node, node.tensor(x).shape)
    if shape is None or shape == declared.shape or min(shape, default=1) < 1:
        return
    if prod(shape) * declared.dtype.bytes <= MAX_TENSOR_BYTES:
        node.draft.types[output] = replace(declared, shape=shape)
        node.draft.restated.add(output)


def _is_restated(node: TfliteOperator, name: str | None) -> bool:
    return name in node.draft.restated or name in node.draft.without_rows or name in node.draft.rows_of


def _known(node: TfliteOperator) -> tuple[Shape, list[tuple[int, int]]] | None:
    """Returns blocks, and the padding or cropping before and after each dimension; None if computed."""
    names = node.inputs[1:3]
    arrays = [node.array(name) for name in names if name in node.draft.constants]
    if len(arrays) != 2 or arrays[1].size != 2 * arrays[0].size or not _are_integers(arrays):
        return None
    blocks = tuple(int(n) for n in arrays[0].reshape(-1))
    pairs = [(int(a), int(b)) for a, b in arrays[1].reshape(-1, 2)]
    return (blocks, pairs) if min(blocks, default=1) > 0 and min(map(min, pairs), default=0) >= 0 else None


def _are_integers(arrays: Sequence[Array]) -> bool:
    return all(array.dtype.kind in "iu" for array in arrays)


def _space_to_batch(node: TfliteOperator, x: Shape) -> Shape | None:
    known = _known(node)
    if known is None or len(known[0]) >= len(x):
        return None
    blocks, pads = known
    sizes = [size + sum(pair) for size, pair in zip(x[1:], pads, strict=False)]
    if any(size % block for size, block in zip(sizes, blocks, strict=True)):
        return None
    cut = [size // block for size, block in zip(sizes, blocks, strict=True)]
    return (x[0] * prod(blocks), *cut, *x[1 + len(blocks) :])


def _batch_to_space(node: TfliteOperator, x: Shape) -> Shape | None:
    known = _known(node)
    if known is None or len(known[0]) >= len(x) or x[0] % prod(known[0]):
        return None
    blocks, crops = known
    sizes = [size * block - sum(pair) for size, block, pair in zip(x[1:], blocks, crops, strict=False)]
    return (x[0] // prod(blocks), *sizes, *x[1 + len(blocks) :])


def _reshaped(node: TfliteOperator, x: Shape) -> Shape | None:
    """Returns the new shape if it is constant, or computed from known shapes; one size may be -1."""
    name = node.inputs[1] if len(node.inputs) > 1 else None
    array = None if name is None or name not in node.draft.types else node.draft.known(name)
    if array is None or array.dtype.kind != "i" or array.ndim != 1:
        return None
    sizes = [int(size) for size in array]
    if sizes.count(-1) == 1:
        others = prod(size for size in sizes if size != -1)
        if others < 1 or prod(x) % others:
            return None
        sizes[sizes.index(-1)] = prod(x) // others
    return tuple(sizes) if prod(sizes) == prod(x) and min(sizes, default=1) > 0 else None


def _sliced(node: TfliteOperator, x: Shape) -> Shape | None:
    """Returns the shape of a slice with known bounds; a size declared as 1 may be any."""
    names = [name for name in node.inputs[1:3] if name is not None and name in node.draft.types]
    arrays = [array for array in map(node.draft.known, names) if array is not None and array.size == len(x)]
    if len(arrays) != 2 or not _are_integers(arrays):
        return None
    begins, sizes = ([int(n) for n in array.reshape(-1)] for array in arrays)
    taken = tuple(n - b if s == -1 else s for n, b, s in zip(x, begins, sizes, strict=True))
    declared = node.tensor(node.outputs[0]).shape
    is_open = len(declared) == len(taken) and all(d in (1, n) for d, n in zip(declared, taken, strict=True))
    return taken if is_open else None


def _joined(node: TfliteOperator, x: Shape) -> Shape | None:
    axis = node.options(tflite.ConcatenationOptions).Axis()
    shapes = [node.tensor(name).shape for name in node.inputs if name is not None]
    if not -len(x) <= axis < len(x) or any(len(shape) != len(x) for shape in shapes):
        return None
    axis %= len(x)
    shapes = [node.tensor(n).shape for n in node.inputs if n is not None and n not in node.draft.without_rows]
    x = shapes[0] if shapes else x
    return (*x[:axis], sum(shape[axis] for shape in shapes), *x[axis + 1 :])


def _transposed(node: TfliteOperator, x: Shape) -> Shape | None:
    order = node.draft.constants.get(node.inputs[1] or "") if len(node.inputs) > 1 else None
    if order is None or sorted(order.reshape(-1).tolist()) != list(range(len(x))):
        return None
    return tuple(x[int(axis)] for axis in order.reshape(-1))


def _windowed(node: TfliteOperator, x: Shape) -> Shape | None:
    """Returns a convolution's or pool's shape: as many images as the input, channels as declared."""
    output = node.tensor(node.outputs[0]).shape
    sizes = _window_sizes(node)
    if len(x) != 4 or len(output) != 4 or sizes is None:
        return None
    is_same, steps, spans = sizes
    if min(steps) < 1:
        return None
    made = [
        -(-n // step) if is_same else (n - span) // step + 1
        for n, step, span in zip(x[1:3], steps, spans, strict=True)
    ]
    return (x[0], *made, output[3])


def _window_sizes(node: TfliteOperator) -> tuple[bool, Shape, Shape] | None:
    """Returns whether padding is SAME, the strides, and the rows and columns that a window spans."""
    if node.code in _POOLS:
        pool = node.options(tflite.Pool2DOptions)
        spans = pool.FilterHeight(), pool.FilterWidth()
        return pool.Padding() == tflite.Padding.SAME, (pool.StrideH(), pool.StrideW()), spans
    conv = node.options(tflite.Conv2DOptions if node.code == "CONV_2D" else tflite.DepthwiseConv2DOptions)
    weights = node.draft.types.get(node.inputs[1] or "") if len(node.inputs) > 1 else None
    if weights is None or weights.rank != 4:
        return None
    dilation = conv.DilationHFactor(), conv.DilationWFactor()
    reach = tuple((n - 1) * d + 1 for n, d in zip(weights.shape[1:3], dilation, strict=True))
    return conv.Padding() == tflite.Padding.SAME, (conv.StrideH(), conv.StrideW()), reach


def _broadcast(node: TfliteOperator, x: Shape) -> Shape | None:
    """Returns the shape that the operands of an element-wise operator broadcast to."""
    shapes = [node.tensor(name).shape for name in node.inputs if name is not None]
    try:
        return tuple(int(n) for n in np.broadcast_shapes(*shapes))
    except ValueError:
        return None


_POOLS = ("AVERAGE_POOL_2D", "MAX_POOL_2D")
_Rule = Callable[[TfliteOperator, Shape], Shape | None]
_TOLD: dict[str, _Rule] = {
    "BATCH_TO_SPACE_ND": _batch_to_space,
    "RESHAPE": _reshaped,
    "SLICE": _sliced,
    "SPACE_TO_BATCH_ND": _space_to_batch,
}
_ON_ELEMENTS = (
    "ABS", "ADD", "CAST", "DEQUANTIZE", "DIV", "ELU", "EXP", "GELU", "HARD_SWISH", "LEAKY_RELU", "LOGISTIC",
    "LOG_SOFTMAX", "MAXIMUM", "MINIMUM", "MUL", "NEG", "POW", "PRELU", "QUANTIZE", "RELU", "RELU6",
    "RELU_0_TO_1", "RELU_N1_TO_1", "RSQRT", "SOFTMAX", "SQRT", "SQUARE", "SQUARED_DIFFERENCE", "SUB", "TANH",
)  # fmt: skip
_FOLLOWS: dict[str, _Rule] = {
    **dict.fromkeys(("CONV_2D", "DEPTHWISE_CONV_2D", *_POOLS), _windowed),
    **dict.fromkeys(_ON_ELEMENTS, _broadcast),
    "CONCATENATION": _joined,
    "TRANSPOSE": _transposed,
}


_WITHOUT_OUTPUT = ("ASSIGN_VARIABLE", "CALL_ONCE")
# Operators that compute with complex numbers, or only look at them in another shape.
_OF_PAIRS = ("COMPLEX_ABS", "EXPAND_DIMS", "IMAG", "REAL", "RESHAPE", "RFFT2D", "SQUEEZE")
_MOST_NODES = 50_000
_MOST_SPARSE = 16  # size of a sparse constant, relative to the bytes in the file
_MOST_REFUSED = 20  # operators named in one error


class SubgraphReader:
    """Reads subgraphs; records the constants in the draft, so that a subgraph read twice shares them."""

    def __init__(self, file: ModelFile) -> None:
        self._file = file
        self._constants: dict[tuple[int, int], str] = {}
        self._constant_bytes = 0
        self._outside: dict[str, str] = {}  # of unsigned inputs and outputs: the signed value -> the file's
        self._open: list[int] = []  # subgraphs being read, outermost first
        self.refused: dict[str, ModelError] = {}  # by text, so that each is reported once
        self._unknown: set[str] = set()  # values that depend on rejected operators

    def read_main(self, draft: TfliteDraft, part: Subgraph) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Returns the names of the model's inputs and outputs."""
        names = self._add_tensors(draft, part, {})
        inputs = tuple(self._given(draft, names[i]) for i in part.interface("inputs"))
        self._read_operators(draft, part, names)
        outputs = tuple(self._delivered(draft, names[i]) for i in part.interface("outputs"))
        return inputs, tuple(_told_apart(draft, outputs))

    def _given(self, draft: TfliteDraft, name: str) -> str:
        """Returns the model's input with the file's element type, and converts it for the operators."""
        draft.made.add(name)
        if name not in self._outside:
            return name
        outside = self._outside[name]
        draft.made.add(outside)
        draft.convert(outside, name, f"{outside}/signed")
        return outside

    def _delivered(self, draft: TfliteDraft, name: str) -> str:
        if name not in self._outside or name not in draft.made:
            return name
        outside = self._outside[name]
        if outside not in draft.made:
            draft.types[outside] = replace(draft.types[outside], shape=draft.types[name].shape)
            draft.convert(name, outside, f"{outside}/unsigned")
        return outside

    def _read_called(self, node: TfliteOperator, number: int, values: Sequence[str]) -> tuple[str, ...]:
        """Returns the results of the subgraph applied to values of the draft."""
        part = self._file.part(number)
        if number in self._open:
            raise node.fail(f"it calls subgraph {number}, which contains it")
        inputs = part.interface("inputs")
        if len(inputs) != len(values):
            raise node.fail(
                f"it calls subgraph {number}, which has {len(inputs)} inputs, with {len(values)} values"
            )
        names = self._add_tensors(node.draft, part, dict(zip(inputs, values, strict=True)))
        self._read_operators(node.draft, part, names)
        return tuple(names[i] for i in part.interface("outputs"))

    def _read_operators(self, draft: TfliteDraft, part: Subgraph, names: dict[int, str]) -> None:
        self._open.append(part.number)
        for number in range(part.operator_count):
            node = self._operator(draft, part, number, names)
            if len(draft.nodes) > _MOST_NODES:
                raise node.fail(
                    f"with all subgraphs expanded, the model has more than {_MOST_NODES:,} operators"
                )
            self._read_operator(node)
        self._open.pop()

    def _read_operator(self, node: TfliteOperator) -> None:
        """Reads an operator; collects errors, and skips operators that depend on rejected ones."""
        importer, draft = IMPORTERS.get(node.code), node.draft
        before = list(draft.nodes)
        try:
            if importer is not None:
                require_tensors(node)
                if draft.pairs.isdisjoint((*node.inputs, *node.outputs)):
                    restate(node)
                elif node.code not in _OF_PAIRS:
                    raise node.fail(
                        "it computes with complex numbers",
                        f"supported: {', '.join(_OF_PAIRS)}; convert the model to use their results",
                    )
                importer(node)
                return
        except ModelError as error:
            draft.nodes[:] = before
            if len(self.refused) >= _MOST_REFUSED:
                raise
            if not self._unknown.intersection(node.inputs):
                self.refused.setdefault(str(error), error)
        self._unknown.update(node.outputs)
        draft.made.update(node.outputs)

    def _add_tensors(self, draft: TfliteDraft, part: Subgraph, given: dict[int, str]) -> dict[int, str]:
        """Adds all tensors that are used; returns their names in the graph by index in the file."""
        main = {*part.interface("inputs"), *part.interface("outputs")} if part.number == 0 else set()
        names, whole = dict(given), part.whole_constants()
        for index in part.used_tensors():
            if index not in given:
                names[index] = self._add_tensor(draft, part, index, index in main, index in whole)
        return names

    def _add_tensor(
        self, draft: TfliteDraft, part: Subgraph, index: int, is_interface: bool, becomes_constant: bool
    ) -> str:
        known = self._constants.get((part.number, index))
        if known is not None:
            return known
        stored = part.table.Tensors(index)
        # Inputs and outputs keep their full names; users type them.
        full = tensor_name(stored, index)
        name_hint = full if is_interface else short_name(full, index)
        if stored.Type() == tflite.TensorType.RESOURCE:
            return draft.value_names.unique(name_hint)
        tensor = read_tensor(self._file.model, part.table, index, self._file.name, becomes_constant)
        is_complex = stored.Type() == tflite.TensorType.COMPLEX64
        if is_complex and is_interface:
            raise self._file.fail(
                f'"{full}" has complex numbers, which are supported inside a model only',
                "let the model return their magnitude, or their real and imaginary parts",
            )
        unsigned = is_unsigned(tensor.type)
        if unsigned and is_interface:
            outside = draft.add_value(name_hint, tensor.type)
            name_hint = f"{name_hint}/signed"
        tensor = signed(tensor) if unsigned else tensor
        name = draft.add_value(name_hint, tensor.type, tensor.data)
        if unsigned:
            draft.unsigned.add(name)
        if is_complex:
            draft.pairs.add(name)
        if unsigned and is_interface:
            self._outside[name] = outside
        if tensor.data is not None:
            self._constants[part.number, index] = name
            sharing = _MOST_SPARSE if stored.Sparsity() is not None else 1
            stored_bytes = min(tensor.data.itemsize, DTYPES[stored.Type()].bytes)  # blocks become floats
            self._count_constant(tensor.data.size * stored_bytes // sharing)
        return name

    def _count_constant(self, count: int) -> None:
        self._constant_bytes += count
        if self._constant_bytes > MAX_SHARING * self._file.bytes:
            raise self._file.fail(f"constants add up to more than {MAX_SHARING} times the file's size")

    def _operator(
        self, draft: TfliteDraft, part: Subgraph, number: int, names: dict[int, str]
    ) -> TfliteOperator:
        table, code = part.table.Operators(number), part.code(number)
        outputs = part.indices(table, "outputs")
        if -1 in outputs or not (outputs or code in _WITHOUT_OUTPUT):
            raise self._fail(f"node {number} ({code}) has no output")
        return TfliteOperator(
            index=number,
            code=code,
            label=part.label(outputs[0]) if outputs else "",
            inputs=tuple(None if i == -1 else names[i] for i in part.inputs_of(number)),
            outputs=tuple(names[i] for i in outputs),
            table=table,
            file_name=self._file.name,
            draft=draft,
            read_subgraph=self._read_called,
        )

    def _fail(self, what: str) -> ModelError:
        return self._file.fail(what)


def _told_apart(draft: TfliteDraft, outputs: Sequence[str]) -> Iterator[str]:
    """Yields the model's outputs; one that occurs twice gets a second name."""
    for number, name in enumerate(outputs):
        yield draft.again(name) if name in outputs[:number] and name in draft.made else name
