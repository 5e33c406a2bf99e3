"""Adds the subgraphs of a TFLite file to the draft: tensors, then one importer call per operator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import tflite

from aot.errors import ModelError
from aot.frontend.tflite.draft import TfliteDraft
from aot.frontend.tflite.flatbuffer import MAX_SHARING
from aot.frontend.tflite.importers import IMPORTERS
from aot.frontend.tflite.importers.variables import require_tensors
from aot.frontend.tflite.model_file import ModelFile, Subgraph, short_name
from aot.frontend.tflite.operation import TfliteOperator
from aot.frontend.tflite.restated import restate
from aot.frontend.tflite.tensors import DTYPES, read_tensor, tensor_name
from aot.frontend.tflite.unsigned import is_unsigned, signed

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
