"""A TFLite file's bytes become a graph: bounds first, then tensors, then one importer per operator."""

from __future__ import annotations

from pathlib import PurePath

import tflite

from aot.errors import ModelError
from aot.frontend.tflite.draft import Draft, Operator
from aot.frontend.tflite.flatbuffer import MAX_SHARING, check_flatbuffer
from aot.frontend.tflite.importers import IMPORTERS
from aot.frontend.tflite.layout import MODEL
from aot.frontend.tflite.tensors import read_tensor, tensor_name
from aot.ir.graph import Graph

IDENTIFIER = b"TFL3"
_CODE_NAMES: dict[int, str] = {
    number: name for name, number in vars(tflite.BuiltinOperator).items() if isinstance(number, int)
}
_CORRUPTED = "the file looks corrupted: get or convert it again"


def read_tflite(data: bytes, file_name: str, rounding: str = "tflm") -> Graph:
    """The model in a TFLite file; `rounding` is a mode of aot.ops.rounding. ModelError says what is wrong."""
    if len(data) < 8 or data[4:8] != IDENTIFIER:
        raise ModelError(
            "this is not a TFLite file: it has no TFL3 identifier at byte 4", file_name, _CORRUPTED
        )
    check_flatbuffer(data, MODEL, file_name)
    return _Reader(tflite.Model.GetRootAs(data, 0), file_name, len(data)).graph(rounding)


class _Reader:
    """One file, its first subgraph, and the names its tensors got."""

    def __init__(self, model: tflite.Model, file_name: str, file_bytes: int) -> None:
        self._model = model
        self._file_name = file_name
        self._file_bytes = file_bytes
        if model.SubgraphsLength() == 0:
            raise self._fail("the file holds no subgraph, so there is no model in it")
        self._subgraph = model.Subgraphs(0)

    def _fail(self, what: str, hint: str = _CORRUPTED) -> ModelError:
        return ModelError(what, self._file_name, hint)

    def graph(self, rounding: str) -> Graph:
        self._refuse_unsupported_operators()
        self._refuse_further_subgraphs()
        draft = Draft()
        names = self._add_tensors(draft)
        inputs = tuple(names[i] for i in self._interface("inputs"))
        draft.made.update(inputs)
        for number in range(self._subgraph.OperatorsLength()):
            operator = self._operator(number, names)
            IMPORTERS[operator.code](draft, operator, rounding)
        outputs = tuple(names[i] for i in self._interface("outputs"))
        self._check_interface(draft, inputs, outputs)
        return draft.graph(PurePath(self._file_name).stem, inputs, outputs)

    def _add_tensors(self, draft: Draft) -> dict[int, str]:
        """All tensors that something mentions; their names in the graph by their indices in the file."""
        interface = {*self._interface("inputs"), *self._interface("outputs")}
        names, constant_bytes = {}, 0
        for index in self._used_tensors():
            tensor = read_tensor(self._model, self._subgraph.Tensors(index), index, self._file_name)
            # Inputs and outputs keep their full names; users type them.
            wish = tensor.name if index in interface else _short(tensor.name, index)
            names[index] = draft.add_value(wish, tensor.type, tensor.data)
            constant_bytes += 0 if tensor.data is None else tensor.data.nbytes
            if constant_bytes > MAX_SHARING * self._file_bytes:
                raise self._fail(f"constants add up to more than {MAX_SHARING} times the file's size")
        return names

    def _refuse_unsupported_operators(self) -> None:
        """All of them at once, so that nobody meets them one by one."""
        nodes: dict[str, list[str]] = {}
        for number in range(self._subgraph.OperatorsLength()):
            code = self._code(number)
            if code not in IMPORTERS:
                nodes.setdefault(code, []).append(self._place(number))
        if nodes:
            plural = "operators {} are" if len(nodes) > 1 else "operator {} is"
            raise ModelError(
                f"TFLite {plural.format(', '.join(sorted(nodes)))} not supported",
                "\n".join([self._file_name, *(f"{code}: {_listed(nodes[code])}" for code in sorted(nodes))]),
                f"supported: {', '.join(sorted(IMPORTERS))}   (docs/ops.md)",
            )

    def _refuse_further_subgraphs(self) -> None:
        count = self._model.SubgraphsLength()
        if count > 1:
            raise self._fail(
                f"the file holds {count} subgraphs, files with 1 are supported",
                "convert one signature of the model at a time",
            )

    def _place(self, number: int) -> str:
        outputs = self._indices(self._subgraph.Operators(number), "outputs")
        return f'node {number} "{self._label(outputs[0])}"' if outputs else f"node {number}"

    def _code(self, number: int) -> str:
        index = self._subgraph.Operators(number).OpcodeIndex()
        if index >= self._model.OperatorCodesLength():
            raise self._fail(
                f"node {number} uses operator code {index}, the file has {self._model.OperatorCodesLength()}"
            )
        code = self._model.OperatorCodes(index)
        # Codes above 127 did not fit the first version's field; files hold both, the larger one counts.
        builtin = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
        if builtin == tflite.BuiltinOperator.CUSTOM:
            return f"CUSTOM {(code.CustomCode() or b'').decode('utf-8', 'replace')}"
        return _CODE_NAMES.get(builtin, f"number {builtin}")

    def _operator(self, number: int, names: dict[int, str]) -> Operator:
        table = self._subgraph.Operators(number)
        outputs = self._indices(table, "outputs")
        if not outputs or -1 in outputs:
            raise self._fail(f"node {number} ({self._code(number)}) has no output")
        return Operator(
            index=number,
            code=self._code(number),
            label=self._label(outputs[0]),
            inputs=tuple(None if i == -1 else names[i] for i in self._indices(table, "inputs")),
            outputs=tuple(names[i] for i in outputs),
            table=table,
            file_name=self._file_name,
        )

    def _indices(self, table: tflite.Operator | tflite.SubGraph, which: str) -> tuple[int, ...]:
        """Tensor indices of an operator or the subgraph, all of them in range; -1 means absent."""
        stored = table.InputsAsNumpy() if which == "inputs" else table.OutputsAsNumpy()
        indices = () if isinstance(stored, int) else tuple(int(i) for i in stored)
        count = self._subgraph.TensorsLength()
        for index in indices:
            if not -1 <= index < count:
                raise self._fail(f"tensor {index} is mentioned, the file has {count}")
        return indices

    def _interface(self, which: str) -> tuple[int, ...]:
        indices = self._indices(self._subgraph, which)
        if -1 in indices or len(set(indices)) != len(indices):
            raise self._fail(f"the model's {which} name a tensor twice or not at all")
        if not indices:
            raise self._fail(f"the model has no {which}", "export it with inputs and outputs")
        return indices

    def _check_interface(self, draft: Draft, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> None:
        for name in inputs:
            if name in draft.constants:
                raise self._fail(f'the model\'s input "{name}" is a constant')
        for name in outputs:
            if name not in draft.made:
                raise self._fail(f'the model\'s output "{name}" is not computed by any operator')

    def _used_tensors(self) -> list[int]:
        used = {*self._interface("inputs"), *self._interface("outputs")}
        for number in range(self._subgraph.OperatorsLength()):
            operator = self._subgraph.Operators(number)
            used.update(self._indices(operator, "inputs"), self._indices(operator, "outputs"))
        return sorted(used - {-1})

    def _label(self, index: int) -> str:
        return "" if index == -1 else _short(tensor_name(self._subgraph.Tensors(index), index), index)


def _short(name: str, index: int) -> str:
    """Converters join the names of all ops they fused with semicolons; the first says enough."""
    return name.split(";")[0] or f"tensor_{index}"


def _listed(places: list[str]) -> str:
    shown = ", ".join(places[:4])
    return f"{shown} and {len(places) - 4} more" if len(places) > 4 else shown
