"""ONNX graphs drawn at random: chains and branches of operators on images, sequences and vectors."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import TensorProto, helper, numpy_helper

Array = npt.NDArray[Any]
Shape = tuple[int, ...]
MOST_ELEMENTS = 40_000  # of one value, so that a graph takes milliseconds


class Drawing:
    """A graph while it is drawn; shapes of values are found by what the operators make of them."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.shapes: dict[str, Shape] = {}

    def upto(self, most: int, least: int = 1) -> int:
        return int(self.rng.integers(least, max(least, most) + 1))

    def chance(self, share: float = 0.5) -> bool:
        return bool(self.rng.random() < share)

    def one_of(self, *choices: Any) -> Any:
        return choices[self.rng.integers(len(choices))]

    def constant(self, array: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def weights(self, *shape: int, spread: float = 1.0) -> str:
        return self.constant((self.rng.normal(size=shape) * spread).astype(np.float32))

    def node(self, operator: str, *inputs: str, shape: Shape, **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], **attributes))
        self.shapes[name] = shape
        return name

    def file(self, inputs: Mapping[str, Shape], outputs: list[str], version: int) -> bytes:
        given = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs.items()]
        made = [helper.make_empty_tensor_value_info(name) for name in outputs]
        graph = helper.make_graph(self.nodes, "drawn", given, made, self.constants)
        sets = [helper.make_opsetid("", version), helper.make_opsetid("com.microsoft", 1)]
        data: bytes = helper.make_model(graph, opset_imports=sets, ir_version=9).SerializeToString()
        return data


Step = Callable[[Drawing, str], str]


def conv(d: Drawing, x: str) -> str:
    n, c, *image = d.shapes[x]
    groups = d.one_of(1, 1, c, *(g for g in (2, 3, 4) if c % g == 0))
    filters = groups * d.upto(max(1, 12 // groups))
    kernel = [d.upto(min(5, size + 1)) for size in image]
    dilations = [d.upto(3) if d.chance(0.3) else 1 for _ in image]
    strides = [d.upto(3) for _ in image]
    reach = [(k - 1) * a + 1 for k, a in zip(kernel, dilations, strict=True)]
    pads = [d.upto(r - 1, 0) for r in reach * 2]
    size = [
        (i + a + b - r) // s + 1
        for i, a, b, r, s in zip(image, pads[: len(image)], pads[len(image) :], reach, strides, strict=True)
    ]
    if min(size) < 1 or n * filters * np.prod(size) > MOST_ELEMENTS:
        return x
    bias = [d.weights(filters)] if d.chance(0.7) else []
    w = d.weights(filters, c // groups, *kernel, spread=0.5)
    given = {"strides": strides, "pads": pads, "dilations": dilations, "group": groups}
    return d.node("Conv", x, w, *bias, shape=(n, filters, *size), **given)


def transposed_conv(d: Drawing, x: str) -> str:
    n, c, *image = d.shapes[x]
    groups = d.one_of(1, 1, 1, *(g for g in (2, c) if c % g == 0))
    filters, kernel = d.upto(6), [d.upto(4) for _ in image]
    strides = [d.upto(3) for _ in image]
    more = [d.upto(s - 1, 0) for s in strides]
    pads = [d.upto(k - 1, 0) for k in kernel * 2]
    both = zip(pads[: len(image)], pads[len(image) :], strict=True)
    rows = zip(image, strides, kernel, more, both, strict=True)
    size = [(i - 1) * s + k + m - a - b for i, s, k, m, (a, b) in rows]
    if min(size) < 1 or n * filters * groups * np.prod(size) > MOST_ELEMENTS or len(image) != 2:
        return x
    w = d.weights(c, filters, *kernel, spread=0.5)
    given = {"strides": strides, "pads": pads, "output_padding": more, "group": groups}
    return d.node("ConvTranspose", x, w, shape=(n, filters * groups, *size), **given)


def pool(d: Drawing, x: str) -> str:
    n, c, *image = d.shapes[x]
    kernel = [d.upto(min(5, size)) for size in image]
    strides = [d.upto(3) for _ in image]
    pads = [d.upto(k - 1, 0) if d.chance(0.4) else 0 for k in kernel * 2]
    up = d.chance(0.3)
    size = []
    for i, k, s, a, b in zip(image, kernel, strides, pads[: len(image)], pads[len(image) :], strict=True):
        whole = i + a + b - k
        found = (-(-whole // s) if up else whole // s) + 1
        if up and (found - 1) * s >= i + a:
            found -= 1  # a window may not begin in the padding at the end
        size.append(found)
    if min(size) < 1:
        return x
    given: dict[str, Any] = {"kernel_shape": kernel, "strides": strides, "pads": pads, "ceil_mode": int(up)}
    operator = d.one_of("MaxPool", "AveragePool", "AveragePool", "LpPool")
    if operator == "AveragePool" and d.chance(0.4):
        given["count_include_pad"] = 1
    if operator == "LpPool" and up:
        return x
    return d.node(operator, x, shape=(n, c, *size), **given)


def whole_pool(d: Drawing, x: str) -> str:
    n, c, *image = d.shapes[x]
    operator = d.one_of("GlobalAveragePool", "GlobalAveragePool", "GlobalMaxPool")
    return d.node(operator, x, shape=(n, c, *(1 for _ in image)))


def batch_norm(d: Drawing, x: str) -> str:
    c = d.shapes[x][1]
    mean = d.constant((d.rng.normal(size=c) * d.one_of(1, 30, 1000)).astype(np.float32))
    variance = d.constant((d.rng.uniform(0.2, 2, c) * d.one_of(1e-4, 1, 100)).astype(np.float32))
    return d.node("BatchNormalization", x, d.weights(c), d.weights(c), mean, variance, shape=d.shapes[x])


def instance_norm(d: Drawing, x: str) -> str:
    """Not of single elements, of which ONNX Runtime makes noise where the result is the bias."""
    c = d.shapes[x][1]
    if np.prod(d.shapes[x][2:]) == 1:
        return x
    return d.node("InstanceNormalization", x, d.weights(c), d.weights(c), shape=d.shapes[x])


def layer_norm(d: Drawing, x: str) -> str:
    shape = d.shapes[x]
    axis = d.upto(len(shape) - 1, 1)
    parts = [d.weights(*shape[axis:]) for _ in range(d.upto(2))]
    return d.node("LayerNormalization", x, *parts, shape=shape, axis=axis - d.one_of(0, len(shape)))


def length_one(d: Drawing, x: str) -> str:
    shape = d.shapes[x]
    return d.node("LpNormalization", x, shape=shape, axis=d.upto(len(shape) - 1, 1), p=2)


def activation(d: Drawing, x: str) -> str:
    attributes: dict[str, Any] = {}
    operator = d.one_of(*_ACTIVATIONS)
    if operator in ("LeakyRelu", "Elu", "ThresholdedRelu"):
        attributes = {"alpha": d.one_of(0.1, 1.0, 0.5)}
    if operator == "PRelu":
        return d.node(
            operator, x, d.weights(d.shapes[x][1], *(1,) * (len(d.shapes[x]) - 2)), shape=d.shapes[x]
        )
    if operator == "Clip":
        low, high = sorted(float(v) for v in d.rng.normal(size=2) * 3)
        return d.node(operator, x, *(d.constant(np.float32(v)) for v in (low, high)), shape=d.shapes[x])
    return d.node(operator, x, shape=d.shapes[x], **attributes)


_ACTIVATIONS = (
    "Relu", "LeakyRelu", "Elu", "Selu", "Sigmoid", "Tanh", "Softplus", "Softsign", "HardSigmoid", "HardSwish",
    "ThresholdedRelu", "PRelu", "Clip", "Erf", "Abs", "Neg", "Celu", "Mish", "Atan",
)  # fmt: skip


def arithmetic(d: Drawing, x: str) -> str:
    shape = d.shapes[x]
    other = tuple(1 if d.chance(0.4) else s for s in shape)[d.upto(len(shape) - 1, 0) :]
    operator = d.one_of("Add", "Sub", "Mul", "Max", "Min", "Div")
    y = d.constant((d.rng.uniform(0.5, 2, other) * d.one_of(-1, 1)).astype(np.float32))
    operands = (x, y) if operator != "Sub" or d.chance() else (y, x)
    return d.node(operator, *operands, shape=shape)


def branch(d: Drawing, x: str) -> str:
    """Both ways joined: as a sum, a product, or beside each other."""
    made = x
    for _ in range(d.upto(2)):
        made = d.one_of(conv, activation, batch_norm, instance_norm)(d, made)
    a, b = d.shapes[x], d.shapes[made]
    if a == b:
        return d.node(d.one_of("Add", "Mul", "Sub"), made, x, shape=a)
    axes = [axis for axis in range(1, len(a)) if a[:axis] + a[axis + 1 :] == b[:axis] + b[axis + 1 :]]
    if not axes:
        return made
    axis = axes[0]
    shape = (*a[:axis], a[axis] + b[axis], *a[axis + 1 :])
    return d.node("Concat", x, made, shape=shape, axis=axis)


def moving(d: Drawing, x: str) -> str:
    shape = d.shapes[x]
    rank = len(shape)
    kind = d.upto(6)
    if kind == 1:
        order = [0, *(int(v) + 1 for v in d.rng.permutation(rank - 1))]
        return d.node("Transpose", x, shape=tuple(shape[a] for a in order), perm=order)
    if kind == 2:
        pads = [0, 0, *(d.upto(2, 0) for _ in range(rank - 2))] * 2
        mode = d.one_of("constant", "edge", "reflect")
        if mode == "reflect" and min(shape[2:], default=0) < 3:
            return x
        size = tuple(s + 2 * p for s, p in zip(shape, pads[:rank], strict=True))
        given = [d.constant(np.array(pads, np.int64))]
        given += [d.constant(np.float32(d.one_of(0, -1.5)))] if mode == "constant" else []
        return d.node("Pad", x, *given, shape=size, mode=mode)
    if kind == 3:
        axis = d.upto(rank - 1, 1)
        start, step = d.upto(shape[axis] - 1, 0), d.one_of(1, 1, 2, -1)
        chosen = list(range(shape[axis]))[start::step]
        parts = [[start], [np.iinfo(np.int64).max if step > 0 else -(1 << 62)], [axis], [step]]
        given = [d.constant(np.array(v, np.int64)) for v in parts]
        return d.node("Slice", x, *given, shape=(*shape[:axis], len(chosen), *shape[axis + 1 :]))
    if kind == 4 and rank == 4:
        b = 2
        if shape[2] % b == 0 == shape[3] % b:
            return d.node(
                "SpaceToDepth", x, shape=(shape[0], shape[1] * 4, shape[2] // b, shape[3] // b), blocksize=b
            )
        if shape[1] % 4 == 0:
            mode = d.one_of("DCR", "CRD")
            size = (shape[0], shape[1] // 4, shape[2] * b, shape[3] * b)
            return d.node("DepthToSpace", x, shape=size, blocksize=b, mode=mode)
    if kind == 5:
        axis = d.upto(rank - 1, 1)
        places = d.rng.integers(-shape[axis], shape[axis], d.upto(5))
        return d.node(
            "Gather", x, d.constant(places), shape=(*shape[:axis], len(places), *shape[axis + 1 :]), axis=axis
        )
    if kind == 6 and rank > 2:
        return d.node("CumSum", x, d.constant(np.int64(d.upto(rank - 1, 1))), shape=shape)
    return x


def resize(d: Drawing, x: str) -> str:
    shape = d.shapes[x]
    if len(shape) != 4:
        return x
    mode = d.one_of("nearest", "linear", "cubic")
    given: dict[str, Any] = {"mode": mode}
    given["coordinate_transformation_mode"] = d.one_of(
        "half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"
    )
    if mode == "nearest":
        given["nearest_mode"] = d.one_of("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")
    if d.chance():
        size = tuple(d.upto(17) for _ in range(2))
        sizes = d.constant(np.array([*shape[:2], *size], np.int64))
        return d.node("Resize", x, "", "", sizes, shape=(*shape[:2], *size), **given)
    scales = np.array([1, 1, *(d.one_of(2, 1.5, 0.5, 1.3, 0.7, 3, 1) for _ in range(2))], np.float32)
    size = tuple(int(np.float32(s) * f) for s, f in zip(shape[2:], scales[2:], strict=True))
    if min(size) < 1:
        return x
    return d.node("Resize", x, "", d.constant(scales), shape=(*shape[:2], *size), **given)


def reduction(d: Drawing, x: str) -> str:
    shape = d.shapes[x]
    axes = [a for a in range(1, len(shape)) if d.chance()] or [len(shape) - 1]
    kept = tuple(1 if a in axes else s for a, s in enumerate(shape))
    operator = d.one_of(
        "ReduceMean", "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2",
        "ReduceSumSquare", "ReduceLogSumExp",
    )  # fmt: skip
    return d.node(operator, x, d.constant(np.array(axes, np.int64)), shape=kept, keepdims=1)


def softmax(d: Drawing, x: str) -> str:
    operator = d.one_of("Softmax", "Softmax", "LogSoftmax")
    return d.node(operator, x, shape=d.shapes[x], axis=d.upto(len(d.shapes[x]) - 1, 1))


def product(d: Drawing, x: str) -> str:
    """Vectors by a matrix; an image is made vectors before."""
    *before, depth = d.shapes[x]
    units = d.upto(33)
    if len(before) == 1 and d.chance():
        w = d.weights(depth, units, spread=0.3)
        return d.node("Gemm", x, w, d.weights(units), shape=(*before, units), alpha=d.one_of(1.0, 0.5))
    return d.node("MatMul", x, d.weights(depth, units, spread=0.3), shape=(*before, units))


def flatten(d: Drawing, x: str) -> str:
    shape = d.shapes[x]
    return d.node("Flatten", x, shape=(shape[0], int(np.prod(shape[1:]))), axis=1)


def itself(d: Drawing, x: str) -> str:
    """A product of a sequence with itself, as in attention."""
    shape = d.shapes[x]
    if len(shape) != 3:
        return x
    order = d.node("Transpose", x, shape=(shape[0], shape[2], shape[1]), perm=[0, 2, 1])
    scores = d.node("MatMul", x, order, shape=(shape[0], shape[1], shape[1]))
    small = d.node("Mul", scores, d.constant(np.float32(shape[2] ** -0.5)), shape=d.shapes[scores])
    return d.node("MatMul", softmax_of(d, small), x, shape=shape)


def softmax_of(d: Drawing, x: str) -> str:
    return d.node("Softmax", x, shape=d.shapes[x], axis=-1)


def recurrent(d: Drawing, x: str) -> str:
    """A layer over a sequence [length, batch, elements]."""
    shape = d.shapes[x]
    if len(shape) != 3 or shape[1] > 12:
        return x
    operator, gates = d.one_of(("LSTM", 4), ("GRU", 3), ("RNN", 1))
    hidden, ways = d.upto(8), d.upto(2)
    w = d.weights(ways, gates * hidden, shape[2], spread=0.3)
    r = d.weights(ways, gates * hidden, hidden, spread=0.3)
    b = [d.weights(ways, 2 * gates * hidden)] if d.chance() else []
    given: dict[str, Any] = {"hidden_size": hidden, "direction": "forward" if ways == 1 else "bidirectional"}
    if operator == "GRU":
        given["linear_before_reset"] = d.upto(1, 0)
    turned = d.node("Transpose", x, shape=(shape[1], shape[0], shape[2]), perm=[1, 0, 2])
    made = d.node(operator, turned, w, r, *b, shape=(shape[1], ways, shape[0], hidden), **given)
    joined = d.node("Transpose", made, shape=(shape[0], shape[1], ways, hidden), perm=[2, 0, 1, 3])
    size = d.constant(np.array([shape[0], shape[1], ways * hidden], np.int64))
    return d.node("Reshape", joined, size, shape=(shape[0], shape[1], ways * hidden))


ON_IMAGES: tuple[Step, ...] = (
    conv, conv, conv, conv, transposed_conv, pool, pool, whole_pool, batch_norm, batch_norm, instance_norm,
    layer_norm, length_one, activation, activation, arithmetic, branch, branch, moving, resize, reduction,
    softmax,
)  # fmt: skip
ON_SEQUENCES: tuple[Step, ...] = (
    conv, conv, pool, whole_pool, batch_norm, instance_norm, layer_norm, layer_norm, length_one, activation,
    arithmetic, branch, moving, reduction, softmax, product, product, itself, recurrent,
)  # fmt: skip
ON_VECTORS: tuple[Step, ...] = (
    product, product, batch_norm, layer_norm, activation, arithmetic, reduction, softmax, length_one,
)  # fmt: skip


def drawn_graph(rng: np.random.Generator) -> tuple[bytes, Shape]:
    """A file of one input "x", and its shape."""
    d = Drawing(rng)
    kind = d.one_of("image", "image", "sequence", "vector")
    batch = d.one_of(1, 1, 1, 2, 3)
    if kind == "image":
        shape: Shape = (batch, d.upto(8), d.upto(33), d.upto(33))
    elif kind == "sequence":
        shape = (batch, d.upto(33), d.upto(33))
    else:
        shape = (batch, d.upto(33))
    d.shapes["x"] = shape
    x = "x"
    for _ in range(d.upto(5)):
        steps = {4: ON_IMAGES, 3: ON_SEQUENCES, 2: ON_VECTORS}[len(d.shapes[x])]
        x = d.one_of(*steps)(d, x)
    if d.chance(0.3) and len(d.shapes[x]) > 2:
        x = product(d, flatten(d, x))
    if x == "x":
        x = activation(d, x)
    # Version 17 has normalizations and takes axes of reductions as attributes: 18 is the first without.
    return d.file({"x": shape}, [x], 18), shape
