"""Converts the graph to text and back: the format of `src/<name>.graph` in archives and of pass tests.

    graph "kws"
    input "x": i8[1,4,4,1] {0.5, -128}
    constant "w": i8[2,1,1,1] {0.25 0.125, 0 0, axis 0} = [1, -2]
    constant "table": f32[1000] = external
    "conv" = conv2d(stride=[2, 2]) "x", "w", none -> "y": i8[1,2,2,2] {0.5, -128} # CONV_2D #0
    state "s": i8[1,4] {0.5, 0} next "y" = [0, 0, 0, 0]
    window 49 2 2656768 1
    output "y"

A window has its rows, the new rows of each run, the MACs of all rows, and the number of states for it. Braces
hold scales, zero points and axis. Attributes with their default value are omitted; an attribute that is an op
or a quantization uses the same syntax as these. A constant of more than INLINE_ELEMENTS elements is
`external`: a separate dictionary holds its elements. The graph of a region or loop follows its node, indented
by two spaces.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, fields
from enum import Enum
from textwrap import indent
from typing import Any, get_args, get_type_hints

import numpy as np

from aot.ir.graph import Graph, Node, State, Window
from aot.ir.region import DeviceRegion, Subgraph, subgraphs_of
from aot.ir.types import Array, DType, Quant, TensorType
from aot.ops import OPS
from aot.ops.op import Op


class GraphTextError(ValueError):
    """Raised if the text of a graph cannot be read."""


_TOKEN = re.compile(
    r"""\s*( "(?:[^"\\]|\\.)*" | -> | [-+]?\d[\w.]* | \w+(?:\+\w+)* | [^\w\s] )""",
    re.VERBOSE,
)


class Line:
    """One line as tokens, read from left to right."""

    def __init__(self, text: str, number: int) -> None:
        self._text, self._number, self._at = text, number, 0

    @property
    def peek(self) -> str:
        match = _TOKEN.match(self._text, self._at)
        return match.group(1) if match else ""

    def take(self, expected: str | None = None) -> str:
        token = self.peek
        if token == "" or (expected is not None and token != expected):
            raise self.error(f"expected {expected or 'more'}, found {token or 'the end of the line'}")
        match = _TOKEN.match(self._text, self._at)
        assert match is not None
        self._at = match.end()
        return token

    def takes(self, token: str) -> bool:
        """Consumes the next token if it is this one; returns whether it was."""
        if self.peek != token:
            return False
        self.take()
        return True

    def name(self) -> str:
        token = self.take()
        if not token.startswith('"'):
            raise self.error(f"expected a name in quotes, found {token}")
        return str(json.loads(token))

    def json(self) -> Any:
        """Reads a JSON value: number, list or literal."""
        try:
            value, end = json.JSONDecoder().raw_decode(self._text, self._skip())
        except json.JSONDecodeError:
            raise self.error(f"expected a value, found {self.peek}") from None
        self._at = end
        return value

    def rest(self) -> str:
        return self._text[self._skip() :]

    def _skip(self) -> int:
        while self._at < len(self._text) and self._text[self._at].isspace():
            self._at += 1
        return self._at

    def error(self, what: str) -> GraphTextError:
        return GraphTextError(f"line {self._number}: {what} in: {self._text}")


INLINE_ELEMENTS = 64
_INSIDE = "  "  # indents the lines of an op's graph
_WITH_GRAPH = tuple(f"= {name}(" for name in (DeviceRegion.name, "loop"))
_Numbered = tuple[int, str]  # a line with its number


def print_graph(graph: Graph, inline_elements: int = INLINE_ELEMENTS) -> str:
    lines = [f"graph {_quoted(graph.name)}"]
    lines += [f"input {_declared(name, graph)}" for name in graph.inputs]
    lines += [
        f"constant {_declared(name, graph)} = {_elements(array, inline_elements)}"
        for name, array in graph.constants.items()
    ]
    lines += [print_node(node, graph, inline_elements) for node in graph.nodes]
    lines += [
        f"state {_declared(s.name, graph)} next {_quoted(s.next)} = {_elements(s.initial, inline_elements)}"
        for s in graph.states
    ]
    if graph.window is not None:
        lines.append(f"window {' '.join(map(str, astuple(graph.window)))}")
    lines += [f"output {_quoted(name)}" for name in graph.outputs]
    return "\n".join(lines) + "\n"


def external_constants(graph: Graph, inline_elements: int = INLINE_ELEMENTS) -> dict[str, Array]:
    """Returns the constants and initial states that the text of the graph omits, by name."""
    arrays = {**graph.constants, **{state.name: state.initial for state in graph.states}}
    for op in subgraphs_of(graph):
        arrays |= op.graph.constants
    return {name: array for name, array in arrays.items() if array.size > inline_elements}


def _quoted(name: str) -> str:
    return json.dumps(name)


def _declared(name: str, graph: Graph) -> str:
    return f"{_quoted(name)}: {type_text(graph.types[name])}"


def type_text(tensor: TensorType) -> str:
    text = f"{tensor.dtype.value}[{','.join(map(str, tensor.shape))}]"
    return text if tensor.quant is None else f"{text} {_quant(tensor.quant)}"


def _quant(quant: Quant) -> str:
    parts = [" ".join(map(repr, quant.scales)), " ".join(map(str, quant.zero_points))]
    parts += [] if quant.axis is None else [f"axis {quant.axis}"]
    return "{" + ", ".join(parts) + "}"


def _elements(array: Array, inline_elements: int) -> str:
    # JSON has no inf and nan, but Python's reader accepts what its writer produces.
    return json.dumps(array.ravel().tolist()) if array.size <= inline_elements else "external"


def print_node(node: Node, graph: Graph, inline_elements: int = INLINE_ELEMENTS) -> str:
    """Returns the line of a node, followed by the graph of its op, if it has one."""
    inputs = ", ".join("none" if name is None else _quoted(name) for name in node.inputs)
    outputs = ", ".join(_declared(name, graph) for name in node.outputs)
    origin = f" # {node.origin.encode('unicode_escape').decode('ascii')}" if node.origin else ""
    line = f"{_quoted(node.name)} = {_op(node.op)} {inputs} -> {outputs}{origin}"
    if not isinstance(node.op, Subgraph):
        return line
    return "\n".join([line, indent(print_graph(node.op.graph, inline_elements).rstrip("\n"), _INSIDE)])


def _op(op: Op) -> str:
    return f"{op.name}({_attributes(op)})"


def _attributes(op: Op) -> str:
    return ", ".join(
        f"{field.name}={_attribute(getattr(op, field.name))}"
        for field in fields(op)  # type: ignore[arg-type]
        if not isinstance(getattr(op, field.name), Graph) and getattr(op, field.name) != field.default
    )


def _attribute(value: Any) -> str:
    if isinstance(value, Op):
        return _op(value)
    if isinstance(value, Quant):
        return _quant(value)
    if isinstance(value, Enum):
        return str(value.value) if str(value.value).isidentifier() else _quoted(str(value.value))
    return json.dumps(value)


def parse_graph(text: str, constants: Mapping[str, Array] | None = None) -> Graph:
    """Reads the output of `print_graph`; `constants` holds the external ones.

    Lines that start with # are comments. Raises GraphTextError if the text is not a valid graph.
    """
    return _parsed(list(enumerate(text.splitlines(), start=1)), constants or {})


def _parsed(lines: Sequence[_Numbered], constants: Mapping[str, Array]) -> Graph:
    """Parses the lines of a graph. Lines indented below a node belong to its op."""
    parser = _Parser(constants)
    left = list(lines)
    while left:
        number, text = left.pop(0)
        inside: list[_Numbered] = []
        has_graph = any(begin in text for begin in _WITH_GRAPH)
        while left and has_graph and _depth(left[0]) > _depth((number, text)):
            inside.append(left.pop(0))
        _read(parser, Line(text.strip(), number), inside)
    return parser.graph()


def _read(parser: _Parser, line: Line, inside: Sequence[_Numbered]) -> None:
    """Parses a line. Invalid values raise GraphTextError like invalid syntax."""
    try:
        parser.line(line, inside)
    except GraphTextError:
        raise
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise line.error(f"an invalid value ({error})") from error


def _depth(line: _Numbered) -> int:
    return len(line[1]) - len(line[1].lstrip())


class _Parser:
    def __init__(self, external: Mapping[str, Array]) -> None:
        self._external = external
        self._name = ""
        self._inputs: list[str] = []
        self._outputs: list[str] = []
        self._nodes: list[Node] = []
        self._types: dict[str, TensorType] = {}
        self._constants: dict[str, Array] = {}
        self._states: list[State] = []
        self._window: Window | None = None

    def graph(self) -> Graph:
        return Graph(
            self._name,
            tuple(self._inputs),
            tuple(self._outputs),
            tuple(self._nodes),
            self._types,
            self._constants,
            tuple(self._states),
            self._window,
        )

    def line(self, line: Line, inside: Sequence[_Numbered]) -> None:
        word = line.peek
        if word in ("", "#"):
            return
        if word.startswith('"'):
            self._nodes.append(self._node(line, inside))
        elif word in _STATEMENTS:
            line.take()
            _STATEMENTS[word](self, line)
        else:
            raise line.error(f"expected {', '.join(_STATEMENTS)} or a node, found {word}")

    def _graph(self, line: Line) -> None:
        self._name = line.name()

    def _input(self, line: Line) -> None:
        self._inputs.append(self._declaration(line))

    def _output(self, line: Line) -> None:
        self._outputs.append(line.name())

    def _constant(self, line: Line) -> None:
        name = self._declaration(line)
        self._constants[name] = self._array(line, name)

    def _state(self, line: Line) -> None:
        name = self._declaration(line)
        line.take("next")
        following = line.name()
        self._states.append(State(name, following, self._array(line, name)))

    def _sliding(self, line: Line) -> None:
        self._window = Window(*(int(line.json()) for _ in fields(Window)))

    def _array(self, line: Line, name: str) -> Array:
        tensor = self._types[name]
        line.take("=")
        if not line.takes("external"):
            elements = np.array(line.json(), tensor.dtype.numpy)
            if elements.size != tensor.elements:
                raise line.error(f"{elements.size} elements for shape {tensor.shape}")
            return elements.reshape(tensor.shape)
        if name not in self._external:
            raise line.error(f'constant "{name}" is external and was not provided')
        return self._external[name]

    def _declaration(self, line: Line) -> str:
        name = line.name()
        line.take(":")
        self._types[name] = _parse_type(line)
        return name

    def _node(self, line: Line, inside: Sequence[_Numbered]) -> Node:
        name = line.name()
        line.take("=")
        op = _parse_op(line, _parsed(inside, self._external) if inside else None)
        inputs = tuple(_separated(line, self._operand, "->"))
        outputs = tuple(_separated(line, self._declaration, "#"))
        origin = line.rest().encode("ascii").decode("unicode_escape")
        return Node(name, op, inputs, outputs, origin)

    def _operand(self, line: Line) -> str | None:
        return None if line.takes("none") else line.name()


_STATEMENTS = {
    "graph": _Parser._graph,
    "input": _Parser._input,
    "constant": _Parser._constant,
    "output": _Parser._output,
    "state": _Parser._state,
    "window": _Parser._sliding,
}


def _separated(line: Line, item: Any, end: str) -> Iterable[Any]:
    """Yields comma-separated items up to the end of the line or the token `end`, which is consumed."""
    items = []
    while line.peek not in ("", end):
        items.append(item(line))
        if not line.takes(","):
            break
    if line.peek:
        line.take(end)
    return items


def _parse_type(line: Line) -> TensorType:
    word = line.take()
    try:
        dtype = DType(word)
    except ValueError:
        raise line.error(f"{word} is not an element type") from None
    shape = tuple(line.json())
    return TensorType(dtype, shape, _parse_quant(line) if line.takes("{") else None)


def _parse_quant(line: Line) -> Quant:
    scales, zero_points = [], []
    while not line.takes(","):
        scales.append(float(line.json()))
    while line.peek not in (",", "}"):
        zero_points.append(int(line.json()))
    axis = None
    if line.takes(","):
        line.take("axis")
        axis = int(line.json())
    line.take("}")
    return Quant(tuple(scales), tuple(zero_points), axis)


def _parse_op(line: Line, graph: Graph | None = None) -> Op:
    word = line.take()
    kind = DeviceRegion if word == DeviceRegion.name and graph is not None else OPS.get(word)
    if kind is None:
        raise line.error(f"{word} is not an op ({', '.join(sorted(OPS))})")
    line.take("(")
    hints = get_type_hints(kind)
    attributes: dict[str, Any] = {} if graph is None else {"graph": graph}
    while not line.takes(")"):
        name = line.take()
        line.take("=")
        if name not in hints:
            raise line.error(f"{word} has no attribute {name}")
        attributes[name] = _parse_attribute(line, hints[name])
        line.takes(",")
    return kind(**attributes)


def _parse_attribute(line: Line, hint: Any) -> Any:
    hint = next((kind for kind in get_args(hint) if kind is not type(None)), hint)  # X | None is parsed as X
    if isinstance(hint, type) and issubclass(hint, Op):
        return _parse_op(line)
    if hint is Quant:
        line.take("{")
        return _parse_quant(line)
    if isinstance(hint, type) and issubclass(hint, Enum):
        word = line.take()
        try:
            return hint(json.loads(word) if word.startswith('"') else word)
        except ValueError:
            raise line.error(f"{word} is not one of {', '.join(str(m.value) for m in hint)}") from None
    return _as_tuples(line.json())


def _as_tuples(value: Any) -> Any:
    return tuple(_as_tuples(item) for item in value) if isinstance(value, list) else value
