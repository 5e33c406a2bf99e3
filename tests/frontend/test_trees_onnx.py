"""Ensembles of trees give what ONNX Runtime gives: every branch, missing features, classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import helper
from onnx_oracle import run_onnx

from aot.errors import ModelError
from aot.frontend.onnx.read import read_onnx
from aot.interpret import run_graph

MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]
SPLITS = [0.5, -1.0, 0.0]


def nodes_of(mode: str, trees: int = 2, missing: int = 0) -> dict[str, Any]:
    """Each tree has a root, two branches and four leaves."""
    return {
        "nodes_treeids": [tree for tree in range(trees) for _ in range(7)],
        "nodes_nodeids": [*range(7)] * trees,
        "nodes_featureids": [0, 1, 2, 0, 0, 0, 0] * trees,
        "nodes_values": [*SPLITS, 0.0, 0.0, 0.0, 0.0] * trees,
        "nodes_modes": [*[mode] * 3, *["LEAF"] * 4] * trees,
        "nodes_truenodeids": [1, 3, 5, 0, 0, 0, 0] * trees,
        "nodes_falsenodeids": [2, 4, 6, 0, 0, 0, 0] * trees,
        "nodes_missing_value_tracks_true": [missing] * 7 * trees,
    }


def weights_of(kind: str, ids: list[int], low: float, trees: int = 2) -> dict[str, Any]:
    count = 4 * trees
    return {
        f"{kind}_treeids": [tree for tree in range(trees) for _ in range(4)],
        f"{kind}_nodeids": [3, 4, 5, 6] * trees,
        f"{kind}_ids": (ids * count)[:count],
        f"{kind}_weights": np.linspace(low, 0.4, count).tolist(),
    }


def regressor(mode: str, missing: int = 0, **more: Any) -> bytes:
    given = {"n_targets": 1, **nodes_of(mode, missing=missing), **more}
    return file_of("TreeEnsembleRegressor", 1, **given)


def classifier(ids: list[int], low: float, **more: Any) -> bytes:
    given = {"classlabels_int64s": [0, 1], **nodes_of("BRANCH_LEQ"), **weights_of("class", ids, low), **more}
    return file_of("TreeEnsembleClassifier", 2, **given)


def file_of(operator: str, outputs: int, **attributes: Any) -> bytes:
    names = [f"y{n}" for n in range(outputs)]
    node = helper.make_node(operator, ["x"], names, domain="ai.onnx.ml", **attributes)
    made = [helper.make_empty_tensor_value_info(name) for name in names]
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    graph = helper.make_graph([node], "net", [helper.make_tensor_value_info("x", 1, (12, 3))], made)
    data: bytes = helper.make_model(graph, opset_imports=sets, ir_version=9).SerializeToString()
    return data


ONE = weights_of("target", [0], -1.0)
CASES = {
    **{f"branches by {mode}": regressor(mode, **ONE) for mode in MODES},
    "missing features": regressor("BRANCH_LEQ", 1, **ONE),
    "two targets, their mean": regressor(
        "BRANCH_LT", n_targets=2, aggregate_function="AVERAGE", **weights_of("target", [0, 1], -1.0)
    ),
    **{f"the {how}": regressor("BRANCH_LT", aggregate_function=how, **ONE) for how in ("MIN", "MAX")},
    "from a base": regressor("BRANCH_LT", base_values=[2.5], **ONE),
    "three classes": classifier([0, 1, 2], -1.0, classlabels_int64s=[7, 3, 5]),
    "three classes by softmax": classifier(
        [0, 1, 2], -1.0, classlabels_int64s=[7, 3, 5], post_transform="SOFTMAX"
    ),
    "shares of one": classifier([0], 0.1),
    "distances of one": classifier([0], -1.0, base_values=[0.05]),
    "distances of one by logistic": classifier([0], -1.0, post_transform="LOGISTIC"),
}


@pytest.mark.parametrize("name", CASES)
def test_trees_give_what_onnx_runtime_gives(name: str, require_package: Callable[..., None]) -> None:
    require_package("onnxruntime")
    x = np.random.default_rng(3).normal(size=(12, 3)).astype(np.float32)
    x[:3] = SPLITS  # on the borders
    x[3] = np.nan if name == "missing features" else 0
    made = run_graph(read_onnx(CASES[name], "net.onnx"), {"x": x})
    for mine, wanted in zip(made.values(), run_onnx(CASES[name], {"x": x}), strict=True):
        np.testing.assert_allclose(mine.reshape(wanted.shape), wanted, rtol=1e-5, atol=1e-6)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (regressor("BRANCH_MOST", **ONE), "branches of mode BRANCH_MOST are not supported"),
        (regressor("BRANCH_LT", **weights_of("target", [4], 0.0)), "leaves for targets [4] do not fit 1"),
        (
            regressor("BRANCH_LT", **{**ONE, "target_ids": [0]}),
            "its attributes have 8, 8, 1, 8 entries that belong together",
        ),
        (classifier([0, 1], 0.0, base_values=[1.0]), "1 base scores do not fit 2 classes"),
    ],
)
def test_trees_that_do_not_fit_are_refused(data: bytes, what: str) -> None:
    with pytest.raises(ModelError) as caught:
        read_onnx(data, "net.onnx")
    assert caught.value.what == what


def table_bytes(data: bytes) -> list[int]:
    """The bytes of constants that are tables of branches and leaves, not a number for each row and tree."""
    constants = read_onnx(data, "trees.onnx").constants.values()
    tables = [array for array in constants if array.size > 1 and array.shape[:2] != (12, 2)]
    return sorted((array.nbytes for array in tables), reverse=True)


def test_tables_of_branches_have_no_rows_for_leaves_and_are_no_wider_than_their_numbers() -> None:
    """3 branches in each of 2 trees: a limit of 4 bytes, the column and both ways in a byte each."""
    limits, leaves = 6 * 4, 8 * 4
    assert table_bytes(regressor("BRANCH_LEQ", **ONE)) == [leaves, limits, 6, 6, 6]


@pytest.mark.parametrize(
    ("leaves", "branches"), [([1, 2, 3, 3], 2), ([1, 1, 3, 3], 1), ([3, 3, 3, 3], 0)], ids=str
)
def test_a_branch_whose_leaves_say_the_same_is_a_leaf(
    leaves: list[float], branches: int, require_package: Callable[..., None]
) -> None:
    require_package("onnxruntime")
    data = regressor("BRANCH_LEQ", **ONE | {"target_weights": [*map(float, leaves)] * 2})
    assert table_bytes(data).count(8 * branches) == (branches > 0)  # of limits, for both trees
    x = np.random.default_rng(0).standard_normal((12, 3)).astype(np.float32)
    (wanted,), graph = run_onnx(data, {"x": x}), read_onnx(data, "trees.onnx")
    assert np.array_equal(next(iter(run_graph(graph, {"x": x}).values())), wanted)


def test_numbers_become_others_by_a_table(require_package: Callable[..., None]) -> None:
    require_package("onnxruntime")
    table = {"keys_floats": [0.0, 0.5, -1.0], "values_floats": [4.0, -2.5, 0.0], "default_float": 9.0}
    data = file_of("LabelEncoder", 1, **table)
    x = np.resize(np.array([0.5, 0.0, 3.0, -1.0], np.float32), (12, 3))
    made = run_graph(read_onnx(data, "net.onnx"), {"x": x})["y0"]
    assert made.tolist() == run_onnx(data, {"x": x})[0].tolist()
