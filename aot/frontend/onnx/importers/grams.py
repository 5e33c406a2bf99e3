"""TfIdfVectorizer over numbers: counts the occurrences of each known n-gram of tokens."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

import numpy as np
from onnx import TensorProto

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.importers.elementwise import cast
from aot.frontend.onnx.importers.moving import concatenated, sliced
from aot.frontend.onnx.operation import Importer, OnnxOperator
from aot.ir.types import Array


def _vectorized(node: OnnxOperator) -> Value:
    x = node.operand(0)
    shape = node.shape(x)
    if node.has_attribute("pool_strings") or len(shape) not in (1, 2):
        raise node.fail(
            f"texts, or tokens of shape {list(shape)}, are not supported, only a vector of numbers",
            "convert words to numbers in the application",
        )
    rows = node.value(node.reshaped(node.plain(x), (1, *shape)), x.element) if len(shape) == 1 else x
    placed = _weighted(node, _in_columns(node, [_counted(node, rows, runs) for runs in _runs(node)]))
    return placed if len(shape) == 2 else node.do("Squeeze", placed, node.number([0], TensorProto.INT64))


def _runs(node: OnnxOperator) -> list[Array]:
    """Returns the known n-grams, as an array [n-grams, length] for each length from 1 on."""
    pool, begins = np.array(node.integers("pool_int64s"), np.int64), node.integers("ngram_counts")
    ends = [*begins[1:], len(pool)]
    parts = [pool[begin:end] for begin, end in zip(begins, ends, strict=True)]
    if any(len(part) % (n + 1) for n, part in enumerate(parts)) or sum(map(len, parts)) != len(pool):
        raise node.fail(f"{len(pool)} tokens do not fit runs that begin at {list(begins)}")
    runs: list[Array] = [part.reshape(-1, n + 1) for n, part in enumerate(parts)]
    if any(len(np.unique(each, axis=0)) != len(each) for each in runs):
        raise node.fail("it lists a sequence of tokens twice")
    return runs


def _counted(node: OnnxOperator, x: Value, runs: Array) -> Value:
    """Counts each n-gram in a row of x, at each allowed distance between its tokens."""
    length, (count, size) = runs.shape[1], node.shape(x)
    counts = node.number(np.zeros((count, len(runs))), TensorProto.FLOAT)
    if not node.integer("min_gram_length") <= length <= node.integer("max_gram_length") or not len(runs):
        return counts
    farthest = 1 if length == 1 else node.integer("max_skip_count") + 1
    for step in range(1, farthest + 1):
        spots = size - step * (length - 1)
        if spots > 0:
            found = _found(node, x, runs, step, spots)
            axes = node.number([1], TensorProto.INT64)
            sums = node.do("ReduceSum", cast(node, found, TensorProto.FLOAT), axes, keepdims=0)
            counts = node.do("Add", counts, sums)
    return counts


def _found(node: OnnxOperator, x: Value, runs: Array, step: int, spots: int) -> Value:
    """Returns the matches as [rows, spots, n-grams]."""
    equal = []
    for place, tokens in enumerate(runs.T):
        seen = sliced(node, x, {1: range(place * step, place * step + spots)})
        column = node.do("Unsqueeze", seen, node.number([2], TensorProto.INT64))
        equal.append(node.do("Equal", column, node.number(tokens.reshape(1, 1, -1), x.element)))
    return reduce(lambda a, b: node.do("And", a, b), equal)


def _in_columns(node: OnnxOperator, counts: list[Value]) -> Value:
    """Moves each count to its column; columns without one are 0."""
    columns, rows = node.integers("ngram_indexes"), node.shape(counts[0])[0]
    known = sum(node.shape(each)[1] for each in counts)
    if (
        not columns
        or len(columns) != known
        or len(set(columns)) != known
        or min(columns) < 0
        or max(columns) > 1 << 20
    ):
        raise node.fail(f"columns {list(columns)} for {known} runs of tokens are not supported")
    chosen = np.full(max(columns) + 1, known)
    chosen[list(columns)] = np.arange(known)
    nothing = node.number(np.zeros((rows, 1)), TensorProto.FLOAT)
    whole = concatenated(node, [*counts, nothing], 1)
    return node.do("Gather", whole, node.number(chosen, TensorProto.INT64), axis=1)


def _weighted(node: OnnxOperator, counts: Value) -> Value:
    """Multiplies by the columns' weights, if any; "IDF" counts only whether an n-gram occurs."""
    mode, columns = node.text("mode"), node.shape(counts)[1]
    weights = np.array(node.floats("weights", (1.0,) * columns), np.float32)
    if mode not in ("TF", "IDF", "TFIDF") or len(weights) != columns:
        raise node.fail(f"{len(weights)} weights for {columns} columns by {mode} are not supported")
    if mode == "IDF":
        is_there = node.do("Greater", counts, node.number(0, counts.element))
        counts = cast(node, is_there, counts.element)
    return counts if mode == "TF" else node.do("Mul", counts, node.number(weights, counts.element))


GRAMS: Mapping[str, Importer] = {"TfIdfVectorizer": _vectorized}
