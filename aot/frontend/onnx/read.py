"""An ONNX file's bytes become a graph: each node by its importer or its function body, or refused by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

import numpy as np
import onnx
from onnx import GraphProto, ModelProto, NodeProto

from aot.errors import ModelError
from aot.frontend.onnx.draft import Draft, Place, Value
from aot.frontend.onnx.elements import NARROW, array_of, stored_type
from aot.frontend.onnx.functions import FunctionBody, body_of
from aot.frontend.onnx.importers import IMPORTERS, OF_DOMAIN
from aot.frontend.onnx.integers.plain import through_reals, with_plain_integers
from aot.frontend.onnx.integers.recognise import with_integers
from aot.frontend.onnx.operation import Operator
from aot.frontend.onnx.order import in_order
from aot.ir.graph import Array, Graph
from aot.ir.types import TensorType

OLDEST = 7
DOMAINS = ("", "ai.onnx")
MAX_DEPTH = 24  # of functions and bodies in each other
_AGAIN = "get or export the file again"
Shapes = Mapping[str, tuple[int, ...]]
NO_SHAPES: Shapes = {}
NO_VALUES: Mapping[str, Array] = {}


def read_onnx(
    data: bytes,
    file_name: str,
    rounding: str = "tflm",
    shapes: Shapes = NO_SHAPES,
    values: Mapping[str, Array] = NO_VALUES,
) -> Graph:
    """The model in an ONNX file. `shapes` and `values` are given for inputs by name."""
    try:
        model = onnx.load_model_from_string(data)
    except Exception:  # google.protobuf's own error, which is not a dependency of ours
        raise ModelError(
            f"this is not an ONNX model: {len(data):,} bytes that are no protocol buffer of one",
            file_name,
            _AGAIN,
        ) from None
    if not model.graph.node and not model.graph.output:
        raise ModelError("the file holds no graph, so there is no model in it", file_name, _AGAIN)
    try:
        return _Reader(model, file_name, rounding).graph(shapes, values)
    except ModelError:
        raise
    except Exception:
        _refuse_invalid(model, file_name)
        raise


def _refuse_invalid(model: ModelProto, file_name: str) -> None:
    """A file may break rules that no importer looks at: then ONNX's own checker says which."""
    try:
        onnx.checker.check_model(model)
    except Exception as error:  # of several kinds, for names that are no text too
        reason = (str(error).strip() or "no reason given").splitlines()[0]
        raise ModelError(f"the file breaks ONNX's rules: {reason}", file_name, _AGAIN) from None


class _Reader:
    """One file: values by name in nested scopes, nodes in order."""

    def __init__(self, model: ModelProto, file_name: str, mode: str) -> None:
        self.model = model
        self.file_name = file_name
        self.mode = mode
        self.version = self._version()
        self.functions = {(f.domain, f.name): f for f in model.functions}
        self.draft = Draft(file_name)
        self.scopes: list[dict[str, Value]] = [{}]
        self.versions = [self.version]

    def _fail(self, what: str, hint: str = _AGAIN) -> ModelError:
        return ModelError(what, self.file_name, hint)

    def _version(self) -> int:
        """Of the standard operator set."""
        known = [s.version for s in self.model.opset_import if s.domain in DOMAINS]
        version, newest = (known[0] if known else 1), onnx.defs.onnx_opset_version()
        if not OLDEST <= version <= newest:
            raise self._fail(
                f"the model uses operator set {version}, sets {OLDEST} to {newest} are supported",
                "onnx.version_converter.convert_version(model, 17) changes it",
            )
        return int(version)

    def graph(self, shapes: Shapes, values: Mapping[str, Array]) -> Graph:
        model = self.model.graph
        self._refuse_unsupported(model)
        self._add_initializers(model)
        inputs = self._add_inputs(model, shapes, values)
        for index, node in in_order(model.node):
            self._run_named(node, index)
        outputs = {}
        for output in model.output:
            value = self._find(output.name)
            if value is None:
                raise self._fail(f'the model\'s output "{output.name}" is not computed by any node')
            place = Place(output.name, f'output "{output.name}"', self.file_name)
            outputs[output.name] = self._delivered(place, value)
        if len(outputs) != len(model.output) or not outputs:
            raise self._fail("the model has no outputs, or two of one name")
        if not inputs:
            raise self._fail("the model has no inputs: its results are known without a run", "")
        graph = self.draft.graph(PurePath(self.file_name).stem, inputs, outputs)
        return with_integers(graph, self.draft.integers, self.mode)

    def _delivered(self, place: Place, value: Value) -> str:
        """An output as the file means it: in its order, and in no more bits than its element type has."""
        name = self.draft.stored(place, value)
        if 0 in self.draft.types[name].shape:
            shape = list(self.draft.types[name].shape)
            raise place.fail(f"a tensor of shape {shape} has no elements", "leave it out of the model")
        if value.element in NARROW and name not in self.draft.constants:
            return self.draft.apply(place, NARROW[value.element], (name,))
        return name

    def _refuse_unsupported(self, graph: GraphProto) -> None:
        """All of them at once, so that nobody meets them one by one."""
        nodes: dict[str, list[str]] = {}
        for index, node in _nodes(graph):
            if not self._is_supported(node):
                name = node.op_type if node.domain in DOMAINS else f"{node.domain}.{node.op_type}"
                nodes.setdefault(name, []).append(f'node {index} "{_label(node)}"')
        if nodes:
            plural = "operators {} are" if len(nodes) > 1 else "operator {} is"
            raise ModelError(
                f"ONNX {plural.format(', '.join(sorted(nodes)))} not supported",
                "\n".join([self.file_name, *(f"{name}: {_listed(nodes[name])}" for name in sorted(nodes))]),
                f"supported: {', '.join(sorted(IMPORTERS))}   (docs/ops.md)",
            )

    def _is_supported(self, node: NodeProto) -> bool:
        if (node.domain, node.op_type) in self.functions:
            return True
        if node.op_type in OF_DOMAIN.get(node.domain, {}):
            return True
        return node.domain in DOMAINS and body_of(node, self.version, None) is not None

    def _add_initializers(self, graph: GraphProto) -> None:
        for tensor in graph.initializer:
            array = array_of(tensor, f'constant "{tensor.name}" ({self.file_name})')
            name = self.draft.constant(array, tensor.name)
            self.scopes[-1][tensor.name] = _plain(name, array.ndim, tensor.data_type)

    def _add_inputs(self, graph: GraphProto, shapes: Shapes, values: Mapping[str, Array]) -> tuple[str, ...]:
        names = [i.name for i in graph.input if i.name not in self.scopes[0]]
        for given in (*shapes, *values):
            if given not in names:
                raise self._fail(f'there is no input "{given}"', f"inputs: {', '.join(names)}")
        inputs = []
        for info in graph.input:
            if info.name not in names:
                continue  # older files name constants as inputs too
            if info.name in self.scopes[0]:
                raise self._fail(f'two inputs are called "{info.name}"')
            if info.type.WhichOneof("value") != "tensor_type":
                raise self._fail(
                    f'input "{info.name}" is a {(info.type.WhichOneof("value") or "value").split("_")[0]}, '
                    "tensors are supported",
                    "export the model with tensors only",
                )
            element = info.type.tensor_type.elem_type
            dtype = stored_type(element, f'input "{info.name}" ({self.file_name})')
            if info.name in values:
                array = self._fixed(info, values[info.name].astype(dtype.numpy))
                name = self.draft.constant(array, info.name)
                self.scopes[0][info.name] = _plain(name, array.ndim, element)
                continue
            shape = self._input_shape(info, shapes)
            if 0 in shape:  # there is only one such tensor, so nobody has to give it
                name = self.draft.constant(np.zeros(shape, dtype.numpy), info.name)
                self.scopes[0][info.name] = _plain(name, len(shape), element)
                continue
            self.draft.add_input(info.name, TensorType(dtype, shape))
            self.scopes[0][info.name] = _plain(info.name, len(shape), element)
            inputs.append(info.name)
        return tuple(inputs)

    def _fixed(self, info: onnx.ValueInfoProto, array: Array) -> Array:
        """A value in the shape that the file declares, where it does."""
        tensor = info.type.tensor_type
        sizes = [d.dim_value if d.WhichOneof("value") == "dim_value" else -1 for d in tensor.shape.dim]
        if not tensor.HasField("shape") or sizes.count(-1) > 1 or array.ndim not in (0, 1):
            return array
        try:
            return array.reshape(sizes)
        except ValueError:
            raise self._fail(
                f'{array.size} numbers are given for input "{info.name}" of shape [{_dims(tensor)}]', ""
            ) from None

    def _input_shape(self, info: onnx.ValueInfoProto, shapes: Shapes) -> tuple[int, ...]:
        tensor = info.type.tensor_type
        declared = [_stored_size(dim) for dim in tensor.shape.dim]
        given = shapes.get(info.name)
        if given is None:
            known = tuple(d for d in declared if d is not None)
            if not tensor.HasField("shape") or len(known) != len(declared):
                raise self._fail(
                    f'input "{info.name}" has the shape [{_dims(tensor)}], all its sizes must be known',
                    f"give them: --shape {info.name}={_example(tensor)}",
                )
            return known
        fits = len(given) == len(declared) and all(
            d in (None, 0, g) for d, g in zip(declared, given, strict=False)
        )
        if tensor.HasField("shape") and not fits:
            raise self._fail(
                f'the shape {list(given)} given for input "{info.name}" does not fit [{_dims(tensor)}]', ""
            )
        return given

    def _find(self, name: str) -> Value | None:
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

    def _run_named(self, node: NodeProto, index: int, outer: Place | None = None) -> None:
        """A node whose operands have names in the scopes."""
        label = _label(node) or f"{node.op_type}_{index}"
        if outer is not None:
            place = Place(f"{outer.label}/{label}", outer.origin, self.file_name)
        else:
            place = Place(label, f'{node.op_type} #{index} "{label}"', self.file_name)
        operands = []
        for name in node.input:
            value = self._find(name) if name else None
            if name and value is None:
                raise place.fail(
                    f'it reads "{name}", which no node before it, input or constant provides',
                    "a node is missing, or nodes wait for each other: get or export the file again",
                )
            operands.append(value)
        results = self.run(node, operands, place)
        for name, result in zip(node.output, results, strict=False):
            if name in self.scopes[-1]:
                raise place.fail(f'it writes "{name}", which is already an input, a constant or a result')
            if name:
                self.scopes[-1][name] = result

    def run(self, node: NodeProto, operands: Sequence[Value | None], place: Place) -> tuple[Value, ...]:
        """The node's results, by its importer or by its function body."""
        if len(self.scopes) + len(self.versions) > MAX_DEPTH:
            raise place.fail(f"functions lie more than {MAX_DEPTH} deep in each other", _AGAIN)
        known = self.functions.get((node.domain, node.op_type))
        if known is not None:
            return self._run_body(FunctionBody.of(known, node), operands, place)
        importer = OF_DOMAIN.get(node.domain, {}).get(node.op_type)
        if importer is not None:
            operator = Operator(node, self.versions[-1], tuple(operands), self.draft, place, self, self.mode)
            if any(v is not None and self.draft.types[v.name].quant is not None for v in operands):
                made = through_reals(operator)
                if made is not None:
                    return (made,)
                operator = with_plain_integers(operator)
            results = importer(operator)
            return (results,) if isinstance(results, Value) else tuple(results)
        body = body_of(node, self.versions[-1], self._types(operands))
        if body is None:
            raise place.fail(f"ONNX operator {node.op_type} is not supported", "docs/ops.md lists them")
        if any(v is not None and v.element == onnx.TensorProto.BFLOAT16 for v in operands):
            raise place.fail(
                f"{node.op_type} of bfloat16 is not supported: each of its steps would have to be rounded",
                "export the model in float32",
            )
        return self._run_body(body, operands, place)

    def _types(self, operands: Sequence[Value | None]) -> list[onnx.TypeProto]:
        return [
            onnx.TypeProto()
            if v is None
            else onnx.helper.make_tensor_type_proto(v.element, self.draft.shape(v))
            for v in operands
        ]

    def _run_body(
        self, body: FunctionBody, operands: Sequence[Value | None], place: Place
    ) -> tuple[Value, ...]:
        scope = {name: v for name, v in zip(body.inputs, operands, strict=False) if v is not None}
        absent = set(body.inputs) - set(scope)
        outer, self.scopes = self.scopes, [scope]  # a function sees its operands only
        self.versions.append(body.version or self.versions[-1])
        try:
            for index, node in enumerate(body.nodes):
                for position, name in enumerate(node.input):
                    if name in absent:
                        node.input[position] = ""
                self._run_named(node, index, place)
            return tuple(scope[name] for name in body.outputs if name in scope)
        finally:
            self.versions.pop()
            self.scopes = outer

    def run_graph(self, graph: GraphProto, operands: Sequence[Value], place: Place) -> tuple[Value, ...]:
        """The outputs of a body, which sees the values around it."""
        if len(operands) != len(graph.input):
            raise place.fail(f"its body has {len(graph.input)} inputs, {len(operands)} are given", _AGAIN)
        scope = {info.name: value for info, value in zip(graph.input, operands, strict=True)}
        self.scopes.append(scope)
        try:
            self._add_initializers(graph)
            for index, node in in_order(graph.node):
                self._run_named(node, index, place)
            results = [self._find(output.name) for output in graph.output]
            if None in results:
                raise place.fail("its body has an output that no node computes", _AGAIN)
            return tuple(value for value in results if value is not None)
        finally:
            self.scopes.pop()


def _plain(name: str, rank: int, element: int) -> Value:
    return Value(name, tuple(range(rank)), element)


def _nodes(graph: GraphProto) -> Iterator[tuple[int, NodeProto]]:
    """Every node, those of branches and loops too, with its number."""
    for index, node in enumerate(graph.node):
        yield index, node
        for attribute in node.attribute:
            for inner in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                yield from _nodes(inner)


def _label(node: NodeProto) -> str:
    return node.name or next((name for name in node.output if name), "")


def _listed(places: list[str]) -> str:
    shown = ", ".join(places[:4])
    return f"{shown} and {len(places) - 4} more" if len(places) > 4 else shown


def _stored_size(dim: onnx.TensorShapeProto.Dimension) -> int | None:
    """A size, or None where the file leaves it open, be it by a name, by nothing or by -1."""
    is_known = dim.WhichOneof("value") == "dim_value" and dim.dim_value >= 0
    return dim.dim_value if is_known else None


def _dims(tensor: onnx.TypeProto.Tensor) -> str:
    if not tensor.HasField("shape"):
        return "unknown"
    return ", ".join(d.dim_param or str(_stored_size(d) or "?") for d in tensor.shape.dim)


def _example(tensor: onnx.TypeProto.Tensor) -> str:
    return ",".join(str(_stored_size(d) or 1) for d in tensor.shape.dim) or "1,3,224,224"
