"""Reads an ONNX file's bytes as a graph: each node by its importer or its function body."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np
import onnx
from onnx import GraphProto, ModelProto, NodeProto

from aot.errors import BrokenFileError, ModelError
from aot.frontend.onnx.bfloat16_steps import is_bfloat16, rounded, softmax_by_steps
from aot.frontend.onnx.counted_rows import follow
from aot.frontend.onnx.declared_states import declared_states
from aot.frontend.onnx.draft import AbsentValue, Item, NodePlace, OnnxDraft, TensorSequence, Value
from aot.frontend.onnx.elements import NARROW, array_of
from aot.frontend.onnx.errors import AlreadyReportedError, NoImporterError, Refused
from aot.frontend.onnx.inputs import Shapes, inputs_of, with_tensor_inputs
from aot.frontend.onnx.integers.recognise import through_reals, with_integers, with_plain_integers
from aot.frontend.onnx.merged_trees import with_merged_trees
from aot.frontend.onnx.operation import OnnxOperator
from aot.frontend.onnx.supported import (
    STANDARD,
    FunctionBody,
    body_of,
    find_importer,
    label_of,
    name_of,
    nodes_of,
    unsupported_within,
    versions_of,
)
from aot.frontend.paired_states import with_states
from aot.ir.graph import Graph
from aot.ir.types import Array


def node_metadata(data: bytes) -> Mapping[str, Mapping[str, str]]:
    """Returns the metadata of each named node."""
    nodes = onnx.load_model_from_string(data).graph.node
    return {node.name: {each.key: each.value for each in node.metadata_props} for node in nodes if node.name}


def in_order(nodes: Sequence[NodeProto]) -> list[tuple[int, NodeProto]]:
    """Returns nodes with their numbers in the file, producers before their readers; stable.

    The format requires this order, but not every tool obeys. In a cycle, a node precedes one that it reads.
    """
    makers = {name: number for number, node in enumerate(nodes) for name in node.output if name}
    order: list[tuple[int, NodeProto]] = []
    seen: set[int] = set()
    for first in range(len(nodes)):
        if first in seen:
            continue
        seen.add(first)
        path = [(first, _sources(nodes[first], makers))]
        while path:
            number, sources = path[-1]
            source = next((s for s in sources if s not in seen), None)
            if source is None:
                order.append((number, nodes[number]))
                path.pop()
            else:
                seen.add(source)
                path.append((source, _sources(nodes[source], makers)))
    return order


def _sources(node: NodeProto, makers: Mapping[str, int]) -> Iterator[int]:
    return (makers[name] for name in reads(node) if name in makers)


def reads(node: NodeProto) -> Iterator[str]:
    """Yields the values that a node reads, including its branches and bodies."""
    yield from node.input
    for attribute in node.attribute:
        for graph in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
            yield from (output.name for output in graph.output)
            for inner in graph.node:
                yield from reads(inner)


def names_read(model: ModelProto) -> frozenset[str]:
    """Returns the names that nodes of the file read, including bodies and functions, and its outputs."""
    nodes = [*model.graph.node, *(node for function in model.functions for node in function.node)]
    outputs = [*(o.name for o in model.graph.output), *(n for f in model.functions for n in f.output)]
    return frozenset(outputs).union(*map(reads, nodes)) - {""}


MAX_DEPTH = 24  # of nested functions and bodies
_AGAIN = "get or export the file again"
NO_SHAPES: Shapes = {}
NO_VALUES: Mapping[str, Array] = {}


def operators_of_onnx(data: bytes, file_name: str) -> Iterator[tuple[str, bool]]:
    """Yields each node's operator, and whether it is supported. Raises ModelError.

    Nodes of branches and loops count as nodes, too; the file's own functions count as one.
    """
    model = _checked(data, file_name)
    versions = versions_of(model, file_name)
    own = {(function.domain, function.name): function for function in model.functions}
    for node in nodes_of(model.graph):
        is_read = next(unsupported_within(node, "", versions, own), None) is None
        yield name_of(node), is_read


def is_quantised(data: bytes, file_name: str) -> bool:
    """Returns whether nodes quantize, or compute on quantized tensors. Raises BrokenFileError."""
    names = (node.op_type for node in nodes_of(_checked(data, file_name).graph))
    return any(name == "QuantizeLinear" or name.startswith("QLinear") for name in names)


def _checked(data: bytes, file_name: str) -> ModelProto:
    """Returns the model in the file. Raises BrokenFileError."""
    try:
        model = onnx.load_model_from_string(data)
    except Exception:  # google.protobuf's own error, not a dependency of this package
        raise BrokenFileError(
            f"this is not an ONNX model: its {len(data):,} bytes are not an ONNX protocol buffer",
            file_name,
            _AGAIN,
        ) from None
    if not model.graph.node and not model.graph.output:
        raise BrokenFileError("the file holds no graph, so there is no model in it", file_name, _AGAIN)
    return model


def read_onnx(
    data: bytes,
    file_name: str,
    rounding: str = "tflm",
    shapes: Shapes = NO_SHAPES,
    values: Mapping[str, Array] = NO_VALUES,
) -> Graph:
    """Returns the model in an ONNX file. `shapes` and `values` are given for inputs by name."""
    model = _checked(data, file_name)
    try:
        whole, sizes = with_tensor_inputs(with_merged_trees(model), shapes, values, file_name)
        graph = _FileReader(whole, file_name, rounding).graph(sizes, values)
    except ModelError:
        raise
    except Exception:
        _refuse_invalid(model, file_name)
        raise
    # If a name is not text, the library returns its bytes.
    if not all(isinstance(name, str) for name in (*graph.types, *(node.name for node in graph.nodes))):
        raise BrokenFileError("a name in the file is not UTF-8 text", file_name, _AGAIN)
    return with_states(graph, *declared_states(model, file_name))


def _refuse_invalid(model: ModelProto, file_name: str) -> None:
    """Raises BrokenFileError if ONNX's checker rejects the model, for rules that no importer checks."""
    try:
        onnx.checker.check_model(model)
        onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    except Exception as error:  # of several kinds, also for names that are not text
        reason = (str(error).strip() or "no reason given").splitlines()[0]
        raise BrokenFileError(f"the file breaks ONNX's rules: {reason}", file_name, _AGAIN) from None


class _FileReader:
    """One file: values by name in nested scopes, nodes in order."""

    def __init__(self, model: ModelProto, file_name: str, rounding: str) -> None:
        self.model = model
        self.file_name = file_name
        self.sets = versions_of(model, file_name)
        self.functions = {(f.domain, f.name): f for f in model.functions}
        self.draft = OnnxDraft(rounding=rounding)
        self.refused = Refused(file_name)
        self.scopes: list[dict[str, Item]] = [{}]
        self.versions = [self.sets[""]]
        self.names_read = names_read(model)
        self.in_bfloat16 = False  # inside a function on bfloat16, whose steps are rounded

    def _fail(self, what: str, hint: str = _AGAIN) -> ModelError:
        return BrokenFileError(what, self.file_name, hint)

    def graph(self, shapes: Shapes, values: Mapping[str, Array]) -> Graph:
        model = self.model.graph
        self._add_initializers(model)
        inputs = self._add_inputs(shapes, values)
        self._run_all()
        outputs = self._outputs(model, inputs)
        graph = self.draft.graph(PurePath(self.file_name).stem, inputs, outputs)
        return with_integers(graph, self.draft.integers, self.draft.rounding)

    def _outputs(self, model: GraphProto, inputs: Sequence[str]) -> dict[str, str]:
        """Returns each output's name and its value."""
        made: list[tuple[str, Value]] = []
        for output in model.output:
            item = self._find(output.name)
            if item is None:
                raise self._fail(f'the model\'s output "{output.name}" is not computed by any node')
            made += self._tensors(output.name, item)
        made = [*self._without_filler(made), *self._counts(made)]
        outputs = {
            name: self._delivered(NodePlace(name, f'output "{name}"', self.file_name), value)
            for name, value in made
        }
        is_input = any(name in inputs and name != value.name for name, value in made)
        if is_input or len(outputs) != len(made) or not model.output:
            raise self._fail("the model has no outputs, or two with the same name")
        if not outputs:
            raise self._fail(
                "all outputs of the model are empty, so there is nothing to compute", "leave it out"
            )
        return outputs

    def _counts(self, made: Sequence[tuple[str, Value]]) -> Iterator[tuple[str, Value]]:
        """Yields the row counts of outputs whose number of rows is known only at run time."""
        counts = self.draft.counts
        bad = next((name for name, value in made if value.name in counts.sizes), None)
        if bad is not None:
            raise ModelError(
                f'the number of rows of output "{bad}" depends on the data',
                self.file_name,
                "remove this output: the row count is a separate output",
            )
        for owner in counts.owners([value.name for _, value in made]):
            yield f"{owner}_count", counts.counts[owner]

    def _without_filler(self, made: Sequence[tuple[str, Value]]) -> Iterator[tuple[str, Value]]:
        """Yields the outputs with filler rows set to 0."""
        for name, value in made:
            rows = self.draft.counts.rows.get(value.name)
            if rows is None or value.name in self.draft.counts.zeros:
                yield name, value
            else:
                yield name, self._masked(name, value, value.order[rows.axis], rows.owner)

    def _masked(self, name: str, value: Value, axis: int, owner: str) -> Value:
        place = NodePlace(name, f'output "{name}"', self.file_name)
        along = [-1 if n == axis else 1 for n in range(len(value.order))]
        numbers = np.arange(self.draft.shape(value)[axis], dtype=np.int32).reshape(along)
        nothing = np.zeros((), self.draft.types[value.name].dtype.numpy)
        known = [
            Value(self.draft.constant(array, f"{name}/constant"), tuple(range(array.ndim)), element)
            for array, element in ((numbers, onnx.TensorProto.INT32), (nothing, value.element))
        ]
        less, where = (onnx.helper.make_node(op, [], ["made"]) for op in ("Less", "Where"))
        (is_there,) = self.run(less, [known[0], self.draft.counts.counts[owner]], place)
        (kept,) = self.run(where, [is_there, value, known[1]], place)
        assert isinstance(kept, Value)
        return kept

    def _tensors(self, name: str, item: Item) -> Iterator[tuple[str, Value]]:
        """Yields each tensor of a sequence as an output; tensors without elements are omitted."""
        if isinstance(item, TensorSequence):
            for number, value in enumerate(item.values):
                yield from self._tensors(f"{name}_{number}", value)
        elif isinstance(item, Value) and 0 not in self.draft.types[item.name].shape:
            yield name, item

    def _run_all(self) -> None:
        """Reads all nodes; raises one error for all nodes that cannot be read."""
        model = self.model.graph
        missing = {given.name for given in (*model.input, *model.initializer)} - self.scopes[0].keys()
        self._run_nodes(in_order(model.node), missing)
        whole = self.refused.whole()
        if whole is not None:
            raise whole

    def _run_nodes(
        self, nodes: Iterable[tuple[int, NodeProto]], missing: set[str], outer: NodePlace | None = None
    ) -> None:
        """Reads the nodes. Collects errors, and skips nodes that depend on failed or missing values."""
        is_whole = True
        for index, node in nodes:
            try:
                if missing.isdisjoint(reads(node)):
                    self._run_named(node, index, outer)
                    continue
            except ModelError as error:
                self.refused.add(error)
            is_whole = False
            missing.update(node.output)
            label = self._place(node, index, outer).label
            self.refused.add_operators(unsupported_within(node, label, self.sets, self.functions))
            if self.refused.is_long:
                break
        if outer is not None and not is_whole:
            raise AlreadyReportedError("a body contains unsupported operators")

    def _delivered(self, place: NodePlace, value: Value) -> str:
        """Returns an output as in the file: in its order, with no more bits than its element type has."""
        name = self.draft.stored(place, value)
        if value.element in NARROW and name not in self.draft.constants:
            return self.draft.apply(place, NARROW[value.element], (name,))
        return name

    def _add_initializers(self, graph: GraphProto) -> None:
        for tensor in graph.initializer:
            try:
                array = array_of(tensor, f'constant "{tensor.name}" ({self.file_name})')
            except ModelError as error:
                self.refused.add(error)
                continue
            name = self.draft.constant(array, tensor.name)
            self.scopes[-1][tensor.name] = _plain(name, array.ndim, tensor.data_type)

    def _add_inputs(self, shapes: Shapes, values: Mapping[str, Array]) -> tuple[str, ...]:
        """Adds the inputs; returns the names of all without a fixed value."""
        names = []
        for found in inputs_of(self.model.graph, set(self.scopes[0]), shapes, values, self.refused):
            name = found.name
            if found.array is not None:
                name = self.draft.constant(found.array, found.name)
            else:
                self.draft.add_input(name, found.tensor)
                names.append(name)
            self.scopes[0][found.name] = _plain(name, found.tensor.rank, found.element)
        return tuple(names)

    def _find(self, name: str) -> Item | None:
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

    def _place(self, node: NodeProto, index: int, outer: NodePlace | None) -> NodePlace:
        label = label_of(node, index)
        if outer is not None:
            return NodePlace(f"{outer.label}/{label}", outer.origin, self.file_name)
        return NodePlace(label, f'{node.op_type} #{index} "{label}"', self.file_name)

    def _run_named(self, node: NodeProto, index: int, outer: NodePlace | None = None) -> None:
        """Reads a node whose operands are names in the scopes."""
        place = self._place(node, index, outer)
        operands = []
        for name in node.input:
            value = self._find(name) if name else None
            if name and value is None:
                raise place.fail(
                    f'it reads "{name}", which no node before it, input or constant provides',
                    "a node is missing, or nodes wait for each other: get or export the file again",
                )
            operands.append(value)
        results: Sequence[Item | None] = self.run(node, operands, place)
        if self.in_bfloat16:
            results = rounded(self.draft, node, results, place)
        if find_importer(node.domain, node.op_type) is not None:  # nodes of a function are followed
            follow(self.draft, node, operands, results, place)
        for name, result in zip(node.output, results, strict=False):
            if name in self.scopes[-1]:
                raise place.fail(f'it writes "{name}", which is already an input, a constant or a result')
            if name and result is not None:
                self.scopes[-1][name] = result

    def run(
        self, node: NodeProto, operands: Sequence[Item | None], place: NodePlace
    ) -> tuple[Item | None, ...]:
        """Returns the node's results, by its importer or its function body; some may be missing."""
        if len(self.scopes) + len(self.versions) > MAX_DEPTH:
            raise place.fail(f"functions are nested more than {MAX_DEPTH} deep", _AGAIN)
        known = self.functions.get((node.domain, node.op_type))
        if known is not None:
            return self._run_body(FunctionBody.of(known, node), operands, place)
        importer = find_importer(node.domain, node.op_type)
        x = operands[0] if operands else None
        if self.in_bfloat16 and node.op_type == "Softmax" and isinstance(x, Value) and is_bfloat16(x):
            return softmax_by_steps(self.draft, self.run, node, x, place)
        if importer is not None:
            operator = OnnxOperator(
                node,
                self.versions[-1],
                tuple(operands),
                self.draft,
                place,
                self.run,
                self.run_graph,
                self.attempt,
                self.names_read,
            )
            if any(isinstance(v, Value) and self.draft.types[v.name].quant is not None for v in operands):
                made = through_reals(operator)
                if made is not None:
                    return (made,)
                operator = with_plain_integers(operator)
            results = importer(operator)
            if results is not None:
                return (results,) if isinstance(results, Item) else tuple(results)
        version = self.versions[-1] if node.domain in STANDARD else self.sets[node.domain]
        body = body_of(node, version, self._types(operands))
        if body is None:
            error = place.fail(
                f"ONNX operator {name_of(node)} is not supported", "deploy docs ops lists them"
            )
            raise NoImporterError(error, name_of(node), place.label)
        outer, self.in_bfloat16 = self.in_bfloat16, self.in_bfloat16 or any(map(is_bfloat16, operands))
        try:
            return self._run_body(body, operands, place)
        finally:
            self.in_bfloat16 = outer

    def attempt(self, read: Callable[[], Any]) -> Any:
        """Returns what the function returns, or why it cannot read a node.

        If the result is a text, nothing that was added remains.
        """
        undo, refused = self.draft.checkpoint(), self.refused
        self.refused = Refused(self.file_name)
        try:
            made = read()
        except ModelError as error:
            made = error.what
        finally:
            self.refused = refused
        if isinstance(made, str):
            undo()
        return made

    def _types(self, operands: Sequence[Item | None]) -> list[onnx.TypeProto]:
        return [onnx.TypeProto() if item is None else self._type(item) for item in operands]

    def _type(self, item: Item) -> onnx.TypeProto:
        if isinstance(item, Value):
            return onnx.helper.make_tensor_type_proto(item.element, self.draft.shape(item))
        if isinstance(item, AbsentValue):
            return onnx.TypeProto()
        element = item.values[0].element if item.values else onnx.TensorProto.FLOAT
        return onnx.helper.make_sequence_type_proto(onnx.helper.make_tensor_type_proto(element, None))

    def _run_body(
        self, body: FunctionBody, operands: Sequence[Item | None], place: NodePlace
    ) -> tuple[Item | None, ...]:
        scope = {name: v for name, v in zip(body.inputs, operands, strict=False) if v is not None}
        absent = set(body.inputs) - set(scope)
        outer, self.scopes = self.scopes, [scope]  # a function sees its operands only
        read_outside, self.names_read = (
            self.names_read,
            frozenset(body.outputs).union(*map(reads, body.nodes)),
        )
        self.versions.append(body.version or self.versions[-1])
        try:
            for node in body.nodes:
                for position, name in enumerate(node.input):
                    if name in absent:
                        node.input[position] = ""
            self._run_nodes(enumerate(body.nodes), set(), place)
            return tuple(scope.get(name) for name in body.outputs)
        finally:
            self.versions.pop()
            self.scopes, self.names_read = outer, read_outside

    def run_graph(self, graph: GraphProto, operands: Sequence[Item], place: NodePlace) -> tuple[Item, ...]:
        """Returns the outputs of a body, which can read the values around it."""
        if len(operands) != len(graph.input):
            raise place.fail(f"its body has {len(graph.input)} inputs, {len(operands)} are given", _AGAIN)
        scope = {info.name: value for info, value in zip(graph.input, operands, strict=True)}
        self.scopes.append(scope)
        try:
            self._add_initializers(graph)
            self._run_nodes(in_order(graph.node), set(), place)
            results = [self._find(output.name) for output in graph.output]
            if None in results:
                raise place.fail("its body has an output that no node computes", _AGAIN)
            return tuple(value for value in results if value is not None)
        finally:
            self.scopes.pop()


def _plain(name: str, rank: int, element: int) -> Value:
    return Value(name, tuple(range(rank)), element)
