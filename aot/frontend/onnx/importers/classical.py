"""Operators that scikit-learn's exporter writes around networks, and its linear models."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
from onnx import TensorProto

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.importers.elementwise import cast
from aot.frontend.onnx.operation import Importer, OnnxOperator
from aot.ir.types import Array

_MOST_FACTORS = 8  # of a power computed as products


def _real(node: OnnxOperator, numbers: Array | float) -> Value:
    return node.number(np.asarray(numbers, np.float32), TensorProto.FLOAT)


def _kernels(node: OnnxOperator, count: int) -> Value:
    """Returns the kernel of each input row with each support vector."""
    x, vectors = features(node), np.array(node.floats("support_vectors"), np.float32)
    shape = node.shape(x)
    if len(shape) != 2 or not count or vectors.size != count * shape[1]:
        raise node.fail(f"{vectors.size} numbers of {count} support vectors do not fit shape {list(shape)}")
    vectors = vectors.reshape(count, -1)
    products = node.do("MatMul", x, _real(node, np.ascontiguousarray(vectors.T)))
    kind, params = node.text("kernel_type", "LINEAR"), node.floats("kernel_params", (0.0, 0.0, 0.0))
    if kind == "LINEAR":
        return products
    if kind not in ("POLY", "RBF", "SIGMOID") or len(params) != 3:
        raise node.fail(f"kernel {kind} is not supported", "supported: LINEAR, POLY, RBF, SIGMOID")
    gamma, added, degree = params
    if kind == "RBF":
        squares = node.do("ReduceSumSquare", x, axes=[1], keepdims=1)
        distances = node.do("Add", squares, _real(node, (vectors**2).sum(axis=1)))
        distances = node.do("Sub", distances, node.do("Mul", products, _real(node, 2.0)))
        return node.do("Exp", node.do("Mul", distances, _real(node, -gamma)))
    scaled = node.do("Add", node.do("Mul", products, _real(node, gamma)), _real(node, added))
    return node.do("Tanh", scaled) if kind == "SIGMOID" else _power(node, scaled, degree)


def _power(node: OnnxOperator, base: Value, degree: float) -> Value:
    """Computes a power; integer degrees are products, also for negative bases."""
    if not 1 <= degree <= _MOST_FACTORS or degree != int(degree):  # in this order: it may be NaN
        return node.do("Pow", base, _real(node, degree))
    found = base
    for _ in range(int(degree) - 1):
        found = node.do("Mul", found, base)
    return found


def _regressor(node: OnnxOperator) -> Value:
    """Returns a weighted sum of kernels; for one class, 1 if it is above zero, else -1."""
    count = node.integer("n_supports", 0)
    if node.text("post_transform", "NONE") != "NONE":
        raise node.fail(f"post transform {node.text('post_transform')} is not supported", "supported: NONE")
    weights, rho = np.array(node.floats("coefficients"), np.float32), node.floats("rho", (0.0,))
    if weights.size != count or len(rho) != 1:
        raise node.fail(f"{weights.size} coefficients and {len(rho)} rho do not fit {count} support vectors")
    sums = node.do("MatMul", _kernels(node, count), _real(node, weights.reshape(-1, 1)))
    sums = node.do("Add", sums, _real(node, rho[0]))
    if not node.integer("one_class", 0):
        return sums
    is_above = node.do("Greater", sums, _real(node, 0.0))
    return node.do("Where", is_above, _real(node, 1.0), _real(node, -1.0))


def _classifier(node: OnnxOperator) -> list[Value]:
    """Returns the label with most votes, and the pairs' sums; for two classes, both signs."""
    _require_plain(node)
    labels, each = node.integers("classlabels_ints"), node.integers("vectors_per_class", ())
    pairs = list(combinations(range(len(labels)), 2))
    weights, rho = np.array(node.floats("coefficients"), np.float32), node.floats("rho")
    if len(each) != len(labels) or len(rho) != len(pairs) or weights.size != (len(labels) - 1) * sum(each):
        raise node.fail(
            f"{len(each)} counts of vectors, {weights.size} coefficients and {len(rho)} rho "
            f"do not fit {len(labels)} classes"
        )
    of_pairs = _of_pairs(weights.reshape(len(labels) - 1, -1), each, pairs)
    sums = node.do("MatMul", _kernels(node, sum(each)), _real(node, of_pairs))
    sums = node.do("Add", sums, _real(node, np.array(rho)))
    best = node.do("ArgMax", _votes(node, sums, pairs, len(labels)), axis=1, keepdims=0)
    label = node.do("Gather", node.number(labels, TensorProto.INT64), best, axis=0)
    scores = node.do("Concat", node.do("Neg", sums), sums, axis=1) if len(pairs) == 1 else sums
    return [label, scores]


def _require_plain(node: OnnxOperator) -> None:
    if not node.has_attribute("classlabels_ints"):
        raise node.fail("text labels are not supported", "train the model with numbers as labels")
    if node.has_attribute("prob_a"):
        raise node.fail(
            "probabilities are not supported: they need an iteration of unknown length",
            "train with probability=False (the labels stay the same), or calibrate with "
            "CalibratedClassifierCV",
        )
    if node.text("post_transform", "NONE") != "NONE":
        raise node.fail(f"post transform {node.text('post_transform')} is not supported", "supported: NONE")


def _of_pairs(weights: Array, each: tuple[int, ...], pairs: list[tuple[int, int]]) -> Array:
    """Returns the weight of each vector in each pair: nonzero for vectors of its two classes."""
    ends = np.cumsum(each)
    vectors = [slice(end - count, end) for end, count in zip(ends, each, strict=True)]
    found = np.zeros((int(ends[-1]), len(pairs)), np.float32)
    for number, (first, second) in enumerate(pairs):
        found[vectors[first], number] = weights[second - 1, vectors[first]]
        found[vectors[second], number] = weights[first, vectors[second]]
    return found


def _votes(node: OnnxOperator, sums: Value, pairs: list[tuple[int, int]], classes: int) -> Value:
    """Counts the pairs that each class wins: the first if the sum is above zero, else the second."""
    moved, lost = np.zeros((len(pairs), classes), np.float32), np.zeros(classes, np.float32)
    for number, (first, second) in enumerate(pairs):
        moved[number, first], moved[number, second] = 1, -1
        lost[second] += 1
    is_above = cast(node, node.do("Greater", sums, _real(node, 0.0)), TensorProto.FLOAT)
    return node.do("Add", node.do("MatMul", is_above, _real(node, moved)), _real(node, lost))


def features(node: OnnxOperator) -> Value:
    """Returns the input as floats."""
    return cast(node, node.operand(0), TensorProto.FLOAT)


def _along(node: OnnxOperator, name: str, count: int) -> Value:
    """Returns an attribute with one number for all features, or one for each."""
    numbers = node.floats(name)
    if len(numbers) not in (1, count):
        raise node.fail(f"{len(numbers)} numbers of {name} do not fit {count} features")
    return node.number(np.array(numbers, np.float32), TensorProto.FLOAT)


def _scaler(node: OnnxOperator) -> Value:
    x = features(node)
    count = node.shape(x)[-1]
    return node.do("Mul", node.do("Sub", x, _along(node, "offset", count)), _along(node, "scale", count))


def _imputer(node: OnnxOperator) -> Value:
    """Imports Imputer: replaces missing numbers."""
    if not node.has_attribute("imputed_value_floats"):
        raise node.fail("missing integers are not supported", "export the model with float inputs")
    x, missing = node.operand(0), node.real("replaced_value_float", 0.0)
    to = _along(node, "imputed_value_floats", node.shape(x)[-1])
    is_missing = (
        node.do("IsNaN", x) if np.isnan(missing) else node.do("Equal", x, node.number(missing, x.element))
    )
    return node.do("Where", is_missing, to, x)


def _binarizer(node: OnnxOperator) -> Value:
    x = node.operand(0)
    return cast(node, node.do("Greater", x, node.number(node.real("threshold", 0.0), x.element)), x.element)


def _normalizer(node: OnnxOperator) -> Value:
    """Divides each row by its norm; a row of zeros is unchanged."""
    x, norm = features(node), node.text("norm", "MAX")
    if norm not in _NORMS:
        raise node.fail(f"norm {norm} is not supported", f"{', '.join(_NORMS)} are supported")
    size = node.do(_NORMS[norm], x, axes=[-1])
    is_none = node.do("Equal", size, node.number(0, x.element))
    return node.do("Div", x, node.do("Where", is_none, node.number(1, x.element), size))


_NORMS = {"L1": "ReduceL1", "L2": "ReduceL2", "MAX": "ReduceMax"}


def _extracted(node: OnnxOperator) -> Value:
    """Selects columns by number; of a vector, elements."""
    x, columns = node.operand(0), node.do("Reshape", node.operand(1), node.number([-1], TensorProto.INT64))
    node.require_inside(node.draft.array(columns), 0, node.shape(x)[-1])
    if len(x.order) == 1:
        x = node.do("Unsqueeze", x, node.number([0], TensorProto.INT64))
    return node.do("Gather", x, columns, axis=len(x.order) - 1)


def _sums(node: OnnxOperator, targets: int) -> Value:
    """Returns scores from a row of coefficients per target, and an intercept."""
    x, coefficients = features(node), np.array(node.floats("coefficients"), np.float32)
    if len(node.shape(x)) != 2 or coefficients.size != targets * node.shape(x)[1]:
        raise node.fail(f"{coefficients.size} coefficients do not fit shape {list(node.shape(x))}")
    weights = np.ascontiguousarray(coefficients.reshape(targets, -1).T)
    sums = node.do("MatMul", x, node.number(weights, TensorProto.FLOAT))
    added = np.array(node.floats("intercepts", (0.0,) * targets), np.float32)
    return node.do("Add", sums, node.number(added, TensorProto.FLOAT))


def ended(node: OnnxOperator, scores: Value, last: str) -> Value:
    if last == "NONE":
        return scores
    if last == "LOGISTIC":
        return node.do("Sigmoid", scores)
    if last == "SOFTMAX":
        return node.do("Softmax", scores, axis=-1)
    raise node.fail(f"post transform {last} is not supported", "supported: NONE, LOGISTIC, SOFTMAX")


def _linear_regressor(node: OnnxOperator) -> Value:
    return ended(node, _sums(node, node.integer("targets", 1)), node.text("post_transform", "NONE"))


def _linear_classifier(node: OnnxOperator) -> list[Value]:
    """Returns the label of the highest score, and the scores."""
    if not node.has_attribute("classlabels_ints"):
        raise node.fail("text labels are not supported", "train the model with numbers as labels")
    labels = node.integers("classlabels_ints")
    count = len(node.floats("intercepts", (0.0,) * len(labels)))
    if count != len(labels):
        raise node.fail(
            f"{count} scores for {len(labels)} classes are not supported",
            "export the model with one score for each class",
        )
    scores = _sums(node, count)
    best = node.do("ArgMax", scores, axis=1, keepdims=0)
    label = node.do("Gather", node.number(labels, TensorProto.INT64), best, axis=0)
    return [label, ended(node, scores, node.text("post_transform", "NONE"))]


def _label_encoder(node: OnnxOperator) -> Value:
    """Maps each number with a table; numbers not in it get the default."""
    keys, values = _labels(node, "keys"), _labels(node, "values")
    if len(keys) != len(values) or not len(keys) or np.isnan(keys).any():
        raise node.fail(f"{len(keys)} keys for {len(values)} values are not supported")
    whole = values.dtype.kind == "i"
    element = TensorProto.INT64 if whole else TensorProto.FLOAT
    default = node.integer("default_int64", -1) if whole else node.real("default_float", -0.0)
    x, last = node.operand(0), node.number([-1], TensorProto.INT64)
    is_it = node.do("Equal", node.do("Unsqueeze", x, last), node.number(keys, x.element))
    parts = node.do("Where", is_it, node.number(values, element), node.number(0, element))
    is_there = node.do("ReduceMax", cast(node, is_it, TensorProto.INT32), axes=[-1], keepdims=0)
    is_none = node.do("Equal", is_there, node.number(0, TensorProto.INT32))
    found = node.do("ReduceSum", parts, last, keepdims=0)
    return node.do("Where", is_none, node.number(default, element), found)


def _labels(node: OnnxOperator, kind: str) -> Array:
    if node.has_attribute(f"{kind}_int64s"):
        return np.array(node.integers(f"{kind}_int64s"), np.int64)
    if node.has_attribute(f"{kind}_floats"):
        return np.array(node.floats(f"{kind}_floats"), np.float32)
    raise node.fail("text labels are not supported", "encode them as numbers in the application")


def _zip_map(node: OnnxOperator) -> Value:
    """Imports ZipMap: a map of numbers by label becomes a row in label order."""
    x = node.operand(0)
    held = {a.name: list(a.ints) or list(a.strings) for a in node.proto.attribute}
    labels = next(
        (held[name] for name in ("classlabels_int64s", "classlabels_strings") if held.get(name)), []
    )
    if len(labels) != node.shape(x)[-1]:
        raise node.fail(f"{len(labels)} labels do not fit shape {list(node.shape(x))}")
    order = sorted(range(len(labels)), key=labels.__getitem__)
    if order == list(range(len(labels))):
        return node.do("Identity", x)
    return node.do("Gather", x, node.number(order, TensorProto.INT64), axis=len(node.shape(x)) - 1)


CLASSICAL: Mapping[str, Importer] = {
    "ArrayFeatureExtractor": _extracted,
    "Binarizer": _binarizer,
    "Imputer": _imputer,
    "LabelEncoder": _label_encoder,
    "LinearClassifier": _linear_classifier,
    "LinearRegressor": _linear_regressor,
    "Normalizer": _normalizer,
    "SVMClassifier": _classifier,
    "SVMRegressor": _regressor,
    "Scaler": _scaler,
    "ZipMap": _zip_map,
}
