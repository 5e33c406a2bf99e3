"""Optimizers: one step on every trained tensor, as element-wise arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from onnx import TensorProto

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.importers.elementwise import cast
from aot.frontend.onnx.importers.real import Real
from aot.frontend.onnx.operation import Importer, OnnxOperator

# From a tensor, its gradient and the optimizer's states to the new tensor and states.
_Step = Callable[[Sequence[Real]], Sequence[Real]]


def _stepped(states: int, step_of: Callable[[OnnxOperator], _Step]) -> Importer:
    """Imports an optimizer. Operands are all tensors, all gradients, then states by kind; so are results."""
    width = 2 + states

    def import_it(node: OnnxOperator) -> list[Value]:
        count, rest = divmod(len(node.operands) - 2, width)
        if count < 1 or rest:
            raise node.fail(
                f"{len(node.operands) - 2} operands after its rate and count are not {width} for each tensor",
                "get or export the file again",
            )
        step = step_of(node)
        made = [
            step([Real(node, node.operand(2 + place + kind * count)) for kind in range(width)])
            for place in range(count)
        ]
        return [each[kind].value for kind in range(1 + states) for each in made]

    return import_it


def _rate(node: OnnxOperator) -> Real:
    return Real(node, _scalar(node, node.operand(0)))


def _count(node: OnnxOperator) -> Value:
    """Returns the number of previous steps."""
    return _scalar(node, node.operand(1))


def _scalar(node: OnnxOperator, value: Value) -> Value:
    return node.value(node.reshaped(node.plain(value), ()), value.element)


def _is_later(node: OnnxOperator) -> Value:
    count = _count(node)
    return node.do("Greater", count, node.number(0, count.element))


def _either(node: OnnxOperator, condition: Value, yes: Real, no: Real) -> Real:
    return Real(node, node.do("Where", condition, yes.value, no.value))


def _steps(node: OnnxOperator, at_least: int = 0) -> Real:
    """Returns the count as a float."""
    count = _count(node)
    raised = node.do("Max", count, node.number(at_least, count.element))
    return Real(node, cast(node, raised, TensorProto.FLOAT))


def _adagrad(node: OnnxOperator) -> _Step:
    """Imports Adagrad: the more an element has changed, the less it changes."""
    slower = _steps(node) * node.real("decay_factor", 0.0) + 1.0
    rate = _rate(node) / slower
    norm, epsilon = node.real("norm_coefficient", 0.0), node.real("epsilon", 1e-6)

    def step(given: Sequence[Real]) -> Sequence[Real]:
        x, gradient, moved = given
        slope = x * norm + gradient
        squares = moved + slope * slope
        return x - rate * slope / (squares.one("Sqrt") + epsilon), squares

    return step


def _adam(node: OnnxOperator) -> _Step:
    """Imports Adam: decaying means of gradients and their squares, corrected for starting at 0."""
    alpha, beta = node.real("alpha", 0.9), node.real("beta", 0.999)
    norm, after = node.real("norm_coefficient", 0.0), node.real("norm_coefficient_post", 0.0)
    epsilon = node.real("epsilon", 1e-6)
    first = _rate(node)
    rest = [_power(node, factor, _steps(node, 1)) * -1.0 + 1.0 for factor in (alpha, beta)]
    rate = _either(node, _is_later(node), first * rest[1].one("Sqrt") / rest[0], first)

    def step(given: Sequence[Real]) -> Sequence[Real]:
        x, gradient, mean, square = given
        slope = x * norm + gradient
        means = mean * alpha + slope * (1.0 - alpha)
        squares = square * beta + slope * slope * (1.0 - beta)
        moved = x - rate * means / (squares.one("Sqrt") + epsilon)
        return moved * (1.0 - after), means, squares

    return step


def _power(node: OnnxOperator, base: float, exponent: Real) -> Real:
    return Real(node, node.do("Pow", node.number(base, exponent.value.element), exponent.value))


def _momentum(node: OnnxOperator) -> _Step:
    """Imports Momentum: a decaying mean of gradients; the first step uses the gradient alone."""
    alpha, beta = node.real("alpha"), node.real("beta")
    norm, mode = node.real("norm_coefficient"), node.text("mode")
    if mode not in ("standard", "nesterov"):
        raise node.fail(f'mode "{mode}" is not one of standard, nesterov', "get or export the file again")
    rate = _rate(node)
    shares = (Real(node, node.number(share, rate.value.element)) for share in (beta, 1.0))
    share = _either(node, _is_later(node), *shares)

    def step(given: Sequence[Real]) -> Sequence[Real]:
        x, gradient, before = given
        slope = x * norm + gradient
        speed = before * alpha + share * slope
        way = slope + speed * alpha if mode == "nesterov" else speed
        return x - rate * way, speed

    return step


OPTIMISING: Mapping[str, Importer] = {
    "Adagrad": _stepped(1, _adagrad),
    "Adam": _stepped(2, _adam),
    "Momentum": _stepped(1, _momentum),
}
