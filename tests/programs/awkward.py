"""Random operator cases with the sizes that tiles, words and padding trip over; the same ones every time."""

from collections.abc import Callable, Iterator, Mapping
from itertools import count, islice

import numpy as np
from op_case import OpCase, Weights, int8, int8_weights, int32_bias, op_case

from aot.ir.types import TensorType
from aot.ops.activation import Activation
from aot.ops.average_pool2d import AveragePool2d
from aot.ops.binary import Add, Mul, Sub
from aot.ops.constraints import violations
from aot.ops.conv2d import Conv2d
from aot.ops.dense import Dense
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.max_pool2d import MaxPool2d
from aot.ops.op import Op
from aot.ops.rounding import RequantRounding
from aot.ops.softmax import Softmax
from aot.ops.spatial import Padding

CHANNELS = (1, 2, 3, 4, 5, 7, 8, 17)
SIDES = (1, 2, 3, 5, 6, 7, 9)
ZERO_POINTS = (-128, 127, 0, 3, -77)
RESULT_SCALES = (0.03, 0.002, 0.9)  # over the range, saturating, hardly any value
Rng = np.random.Generator


def awkward_cases(op_name: str, number: int, most_macs: int) -> list[OpCase]:
    """`number` cases of an op that keep its rules and cost at most `most_macs`; none without a maker."""
    return list(islice(_cases(op_name, most_macs), number)) if op_name in MAKERS else []


def _cases(op_name: str, most_macs: int) -> Iterator[OpCase]:
    for seed in count():
        case = MAKERS[op_name](np.random.default_rng(seed), f"{op_name}_{seed}")
        if case is not None and _is_allowed(case, most_macs):
            yield case


def _is_allowed(case: OpCase, most_macs: int) -> bool:
    node, graph = case.node, case.graph
    inputs, outputs = graph.input_types(node), graph.output_types(node)
    if min(outputs[0].shape) < 1 or violations(node.op, inputs, outputs):
        return False
    return work(case) <= most_macs


def work(case: OpCase) -> int:
    """Multiplications, or what takes as long."""
    cost = case.node.op.cost(case.graph.input_types(case.node), case.graph.output_types(case.node))
    return cost.macs + 10 * cost.elementwise


def _one(rng: Rng, *choices: int) -> int:
    return int(rng.choice(choices))


def _pads(rng: Rng, rows: int, columns: int) -> Padding:
    """None, or something else on every side, up to the whole kernel."""
    if rng.random() < 0.3:
        return ((0, 0), (0, 0))
    top, bottom = rng.integers(0, rows + 1, 2)
    left, right = rng.integers(0, columns + 1, 2)
    return ((int(top), int(bottom)), (int(left), int(right)))


def _activation(rng: Rng) -> Activation:
    return list(Activation)[_one(rng, 0, 0, 1, 2, 3)]


def _image(rng: Rng) -> TensorType:
    shape = (1, _one(rng, *SIDES), _one(rng, *SIDES), _one(rng, *CHANNELS))
    return int8(*shape, zero_point=_one(rng, *ZERO_POINTS))


def _result(rng: Rng) -> TensorType:
    return int8(scale=float(rng.choice(RESULT_SCALES)), zero_point=_one(rng, *ZERO_POINTS))


def _bias(rng: Rng, channels: int) -> Weights | None:
    largest = _one(rng, 0, 5000, 2_000_000_000)
    return int32_bias(channels, largest=largest) if largest else None


def _rounding(rng: Rng) -> RequantRounding:
    return list(RequantRounding)[_one(rng, 0, 0, 0, 1)]


def _conv2d(rng: Rng, name: str) -> OpCase:
    x, rows, columns, filters = (
        _image(rng),
        _one(rng, 1, 2, 3, 3, 4),
        _one(rng, 1, 2, 3, 3, 5),
        _one(rng, *CHANNELS),
    )
    op = Conv2d(
        stride=(_one(rng, 1, 1, 2, 3), _one(rng, 1, 1, 2, 3)),
        dilation=(_one(rng, 1, 1, 1, 2), _one(rng, 1, 1, 1, 2, 3)),
        padding=_pads(rng, rows, columns),
        activation=_activation(rng),
        rounding=_rounding(rng),
    )
    w = int8_weights(filters, rows, columns, x.shape[3], axis=0 if rng.random() < 0.7 else None)
    return op_case(name, op, [x], _result(rng), [w, _bias(rng, filters)])


def _depthwise_conv2d(rng: Rng, name: str) -> OpCase:
    x, rows, columns = _image(rng), _one(rng, 1, 2, 3, 3, 3, 5), _one(rng, 1, 2, 3, 3, 3, 3, 4)
    op = DepthwiseConv2d(
        multiplier=_one(rng, 1, 1, 1, 2, 3, 8),
        stride=(_one(rng, 1, 1, 2, 3), _one(rng, 1, 1, 2, 3)),
        dilation=(_one(rng, 1, 1, 1, 2), _one(rng, 1, 1, 1, 2)),
        padding=_pads(rng, rows, columns),
        activation=_activation(rng),
        rounding=_rounding(rng),
    )
    channels = x.shape[3] * op.multiplier
    w = int8_weights(rows, columns, channels, axis=2 if rng.random() < 0.7 else None)
    return op_case(name, op, [x], _result(rng), [w, _bias(rng, channels)])


def _dense(rng: Rng, name: str) -> OpCase:
    depth, outputs = _one(rng, *CHANNELS, 16, 33, 64), _one(rng, *CHANNELS)
    x = int8(_one(rng, 1, 1, 1, 3), depth, zero_point=_one(rng, *ZERO_POINTS))
    w = int8_weights(outputs, depth, axis=0 if rng.random() < 0.5 else None)
    op = Dense(activation=_activation(rng), rounding=_rounding(rng))
    return op_case(name, op, [x], _result(rng), [w, _bias(rng, outputs)])


# Shapes of two operands; the last of each pair may be repeated along the first, or the other way round.
PAIRS = (
    ((1, 4, 5, 3), (1, 4, 5, 3)),
    ((1, 1, 7, 1), (1, 1, 7, 1)),
    ((1, 3, 2, 17), (1, 1, 1, 17)),
    ((1, 3, 5, 2), (1, 3, 1, 1)),
    ((1, 3, 5, 2), (1, 1, 5, 1)),
    ((2, 9), (2, 9)),
    ((2, 9), (1, 9)),
    ((3, 5), (1, 1)),
    ((1, 1), (1, 1)),
    ((2, 3, 4), (2, 3, 4)),
)


def _binary(rng: Rng, name: str, kind: type[Add] | type[Sub] | type[Mul]) -> OpCase:
    pair = list(PAIRS[rng.integers(len(PAIRS))])
    rng.shuffle(pair)
    scales = rng.choice((0.05, 0.2, 0.0031, 1e-6), 2)
    x1, x2 = (
        int8(*shape, scale=float(scale), zero_point=_one(rng, *ZERO_POINTS))
        for shape, scale in zip(pair, scales, strict=True)
    )
    op = kind(_activation(rng))
    if rng.random() < 0.6:
        return op_case(name, op, [x1, x2], _result(rng))
    values = rng.integers(-128, 128, x2.shape).astype(np.int8)
    return op_case(name, op, [x1], _result(rng), [Weights(x2, values)])


def _add(rng: Rng, name: str) -> OpCase:
    return _binary(rng, name, Add)


def _sub(rng: Rng, name: str) -> OpCase:
    return _binary(rng, name, Sub)


def _mul(rng: Rng, name: str) -> OpCase:
    return _binary(rng, name, Mul)


def _pool(rng: Rng, name: str, kind: type[AveragePool2d] | type[MaxPool2d]) -> OpCase:
    x = _image(rng)
    size = (min(x.shape[1], _one(rng, 1, 2, 3, 9)), min(x.shape[2], _one(rng, 1, 2, 3, 9)))
    pads = _pads(rng, size[0] - 1, size[1] - 1)  # every window holds a pixel
    op = kind(size, (_one(rng, 1, 2, 3), _one(rng, 1, 2, 3)), pads, _activation(rng))
    return op_case(name, op, [x], x)


def _average_pool2d(rng: Rng, name: str) -> OpCase:
    return _pool(rng, name, AveragePool2d)


def _max_pool2d(rng: Rng, name: str) -> OpCase:
    return _pool(rng, name, MaxPool2d)


def _softmax(rng: Rng, name: str) -> OpCase:
    shapes = ((1, 1), (1, 2), (1, 17), (3, 5), (1, 2, 3, 4), (2, 3, 4), (7,))
    shape = shapes[rng.integers(len(shapes))]
    x = int8(*shape, scale=float(10.0 ** rng.uniform(-4, 2)), zero_point=_one(rng, *ZERO_POINTS))
    op: Op = Softmax(beta=float(rng.choice((1.0, 0.25, 2.0))))
    return op_case(name, op, [x], int8(scale=1 / 256, zero_point=-128))


MAKERS: Mapping[str, Callable[[Rng, str], OpCase]] = {
    "add": _add,
    "average_pool2d": _average_pool2d,
    "conv2d": _conv2d,
    "dense": _dense,
    "depthwise_conv2d": _depthwise_conv2d,
    "max_pool2d": _max_pool2d,
    "mul": _mul,
    "softmax": _softmax,
    "sub": _sub,
}


def _far_pixels(stride: int) -> OpCase:
    """Neighbouring windows further apart than the offset of a load can say."""
    w = int8_weights(3, 1, 1, 520, axis=0)
    return op_case(
        f"far_pixels_{stride}", Conv2d(stride=(1, stride)), [int8(1, 1, 4, 520)], int8(scale=0.1), [w]
    )


def _all_registers() -> OpCase:
    """Rows that leave a rest of sixteens, in a loop along the row: every register of Helium's tile."""
    w = int8_weights(8, 3, 3, 7, axis=0)
    return op_case("all_registers", Conv2d(), [int8(1, 4, 10, 7)], int8(scale=0.1), [w])


def _long_row() -> OpCase:
    """More rows and columns than a byte counts, offsets that do not fit an immediate."""
    w = int8_weights(3, 3, 1, axis=2)
    op = DepthwiseConv2d(padding=((1, 1), (1, 1)), stride=(7, 1))
    return op_case("long_rows", op, [int8(1, 9, 700, 1, zero_point=-4)], int8(scale=0.05), [w])


def _far_taps() -> OpCase:
    """Neighbouring taps further apart than an immediate says, and channels that leave a rest."""
    w = int8_weights(1, 2, 2101, axis=2)
    return op_case("far_taps", DepthwiseConv2d(), [int8(1, 1, 3, 2101)], int8(scale=0.1), [w])


def _wide_softmax(length: int, scale: float) -> OpCase:
    """So many results that each is next to nothing, and their sum is large."""
    return op_case(
        f"wide_{length}", Softmax(), [int8(1, length, scale=scale)], int8(scale=1 / 256, zero_point=-128)
    )


LARGE: Mapping[str, tuple[OpCase, ...]] = {
    "conv2d": (_far_pixels(1), _far_pixels(2), _all_registers()),
    "depthwise_conv2d": (_long_row(), _far_taps()),
    "softmax": (_wide_softmax(1000, 0.05), _wide_softmax(4095, 1e-4)),
}
