"""Support vector machines from scikit-learn: kernels are one product, pairs of classes another."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
from onnx import TensorProto

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.importers.classical import features
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


SUPPORT_VECTORS: Mapping[str, Importer] = {"SVMClassifier": _classifier, "SVMRegressor": _regressor}
