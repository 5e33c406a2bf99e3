"""scikit-learn's scalers and linear models in ONNX's domain for them give what ONNX Runtime gives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx_oracle import run_onnx

from aot.errors import ModelError
from aot.frontend.onnx.read import read_onnx
from aot.interpret import run_graph
from codegen.job import import_model
from codegen.options import CompileOptions
from deploy.inputs.samples import Samples
from deploy.verification.oracles import ask_oracle

COEFFICIENTS = [0.5, -1.0, 0.25, 2.0, 0.1, -0.3, 1.5, -0.2, 0.7, -0.9, 1.1, 0.4]
CLASSES = {"coefficients": COEFFICIENTS, "intercepts": [0.1, 0.0, -0.4], "classlabels_ints": [7, 2, 5]}
OPERATORS: dict[str, tuple[str, dict[str, Any]]] = {
    "scaled": ("Scaler", {"offset": [0.5, -1.0, 0.0, 2.0], "scale": [2.0, 1.0, 0.5, -1.0]}),
    "scaled by one number": ("Scaler", {"offset": [0.5], "scale": [2.0]}),
    "missing numbers": (
        "Imputer",
        {"imputed_value_floats": [1.0, 2.0, 3.0, 4.0], "replaced_value_float": float("nan")},
    ),
    "a number for a missing one": ("Imputer", {"imputed_value_floats": [9.0], "replaced_value_float": 0.0}),
    "above a threshold": ("Binarizer", {"threshold": 0.25}),
    **{f"norm {norm}": ("Normalizer", {"norm": norm}) for norm in ("L1", "L2", "MAX")},
    "a sum": ("LinearRegressor", {"coefficients": COEFFICIENTS[:4], "intercepts": [0.3]}),
    "three sums": ("LinearRegressor", {"coefficients": COEFFICIENTS, "targets": 3}),
    **{
        f"classes by {end}": ("LinearClassifier", {**CLASSES, "post_transform": end})
        for end in ("NONE", "LOGISTIC", "SOFTMAX")
    },
}


def file_of(operator: str, *others: str, **attributes: Any) -> bytes:
    outputs = ["y", "scores"] if operator == "LinearClassifier" else ["y"]
    node = helper.make_node(operator, ["x", *others], outputs, domain="ai.onnx.ml", **attributes)
    inputs = [helper.make_tensor_value_info("x", 1, (3, 4))]
    made = [helper.make_empty_tensor_value_info(name) for name in outputs]
    columns = [helper.make_tensor(name, 7, (2,), [3, 1]) for name in others]
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    graph = helper.make_graph([node], "net", inputs, made, columns)
    data: bytes = helper.make_model(graph, opset_imports=sets, ir_version=9).SerializeToString()
    return data


def compare(data: bytes, holes: float = 0.0) -> None:
    x = np.random.default_rng(4).normal(size=(3, 4)).astype(np.float32)
    x[1] = 0
    x[0, 2] = holes
    made = run_graph(read_onnx(data, "net.onnx"), {"x": x})
    for mine, wanted in zip(made.values(), run_onnx(data, {"x": x}), strict=True):
        assert mine.dtype == wanted.dtype
        np.testing.assert_allclose(mine, wanted, rtol=1e-5, atol=1e-6)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_gives_what_onnx_runtime_gives(name: str, require_package: Callable[..., None]) -> None:
    require_package("onnxruntime")
    operator, attributes = OPERATORS[name]
    compare(file_of(operator, **attributes), float("nan") if name == "missing numbers" else 0.0)


def test_columns_are_extracted_as_onnx_runtime_does(require_package: Callable[..., None]) -> None:
    require_package("onnxruntime")
    compare(file_of("ArrayFeatureExtractor", "columns"))


MAPS: dict[str, dict[str, Any]] = {
    "numbers": {"classlabels_int64s": [0, 1, 2, 3]},
    "numbers in another order": {"classlabels_int64s": [7, 2, 9, -1]},
    "texts": {"classlabels_strings": ["walk", "run", "sit", "fall"]},
}


@pytest.mark.parametrize("name", MAPS)
def test_a_map_by_label_is_a_row_in_the_order_of_the_labels(
    name: str, tmp_path: Path, require_package: Callable[..., None]
) -> None:
    require_package("onnxruntime")
    path = tmp_path / "net.onnx"
    path.write_bytes(file_of("ZipMap", **MAPS[name]))
    options = CompileOptions()
    model, x = import_model(path, options), np.random.default_rng(4).normal(size=(3, 4)).astype(np.float32)
    samples = Samples(((x,),), is_series=False)
    (wanted,) = ask_oracle("ort", model, options, samples).outputs[0]
    (made,) = run_graph(model.graph, {"x": x}).values()
    assert made.dtype == wanted.dtype
    assert made.tolist() == wanted.tolist()


@pytest.mark.parametrize("element", [TensorProto.DOUBLE, TensorProto.FLOAT16])
def test_onnx_runtime_judges_files_of_wider_and_narrower_numbers(
    element: int, tmp_path: Path, require_package: Callable[..., None]
) -> None:
    """Pipelines of scikit-learn often take numbers of 64 bits."""
    require_package("onnxruntime")
    infos = [helper.make_tensor_value_info(name, element, (1, 3)) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "net", infos[:1], infos[1:])
    file = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path, options = tmp_path / "net.onnx", CompileOptions()
    path.write_bytes(file.SerializeToString())
    samples = Samples(((np.array([[0.5, -2, 3]], np.float32),),), is_series=False)
    ((y,),) = ask_oracle("ort", import_model(path, options), options, samples).outputs
    assert y.tolist() == [[-0.5, 2, -3]]


def test_labels_that_are_texts_are_refused_with_the_way_out() -> None:
    data = file_of("LinearClassifier", coefficients=COEFFICIENTS, classlabels_strings=["a", "b", "c"])
    with pytest.raises(ModelError) as caught:
        read_onnx(data, "net.onnx")
    assert (caught.value.what, caught.value.hint) == (
        "text labels are not supported",
        "train the model with numbers as labels",
    )


@pytest.mark.parametrize(
    ("operator", "attributes", "what"),
    [
        ("Scaler", {"offset": [1.0, 2.0], "scale": [1.0]}, "2 numbers of offset do not fit 4 features"),
        ("Normalizer", {"norm": "L3"}, "norm L3 is not supported"),
        ("LinearRegressor", {"coefficients": [1.0]}, "1 coefficients do not fit shape [3, 4]"),
        ("ZipMap", {"classlabels_int64s": [1, 2]}, "2 labels do not fit shape [3, 4]"),
    ],
)
def test_attributes_that_do_not_fit_are_refused(operator: str, attributes: dict[str, Any], what: str) -> None:
    with pytest.raises(ModelError) as caught:
        read_onnx(file_of(operator, **attributes), "net.onnx")
    assert caught.value.what == what
