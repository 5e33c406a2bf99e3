"""scikit-learn's scalers, linear models and support vector machines equal ONNX Runtime."""

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx_files import info, onnx_file
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
    return onnx_file([node], {"x": (3, 4)}, outputs, {name: np.array([3, 1]) for name in others})


def compare(data: bytes, holes: float = 0.0) -> None:
    x = np.random.default_rng(4).normal(size=(3, 4)).astype(np.float32)
    x[1] = 0
    x[0, 2] = holes
    made = run_graph(read_onnx(data, "net.onnx"), {"x": x})
    for mine, wanted in zip(made.values(), run_onnx(data, {"x": x}), strict=True):
        assert mine.dtype == wanted.dtype
        np.testing.assert_allclose(mine, wanted, rtol=1e-5, atol=1e-6)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_gives_what_onnx_runtime_gives(name):
    operator, attributes = OPERATORS[name]
    compare(file_of(operator, **attributes), float("nan") if name == "missing numbers" else 0.0)


def test_columns_are_extracted_as_onnx_runtime_does():
    compare(file_of("ArrayFeatureExtractor", "columns"))


MAPS: dict[str, dict[str, Any]] = {
    "numbers": {"classlabels_int64s": [0, 1, 2, 3]},
    "numbers in another order": {"classlabels_int64s": [7, 2, 9, -1]},
    "texts": {"classlabels_strings": ["walk", "run", "sit", "fall"]},
}


@pytest.mark.parametrize("name", MAPS)
def test_a_map_by_label_is_a_row_in_the_order_of_the_labels(name, tmp_path, require_package):
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
def test_onnx_runtime_judges_files_of_wider_and_narrower_numbers(element, tmp_path, require_package):
    """Pipelines of scikit-learn often take numbers of 64 bits."""
    require_package("onnxruntime")
    infos = [info(name, 1, 3, element=element) for name in ("x", "y")]
    path, options = tmp_path / "net.onnx", CompileOptions()
    path.write_bytes(onnx_file([helper.make_node("Neg", ["x"], ["y"])], infos[:1], infos[1:]))
    samples = Samples(((np.array([[0.5, -2, 3]], np.float32),),), is_series=False)
    ((y,),) = ask_oracle("ort", import_model(path, options), options, samples).outputs
    assert y.tolist() == [[-0.5, 2, -3]]


def test_labels_that_are_texts_are_refused_with_the_way_out():
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
def test_attributes_that_do_not_fit_are_refused(operator, attributes, what):
    with pytest.raises(ModelError) as caught:
        read_onnx(file_of(operator, **attributes), "net.onnx")
    assert caught.value.what == what


KERNELS: dict[str, list[float]] = {
    "LINEAR": [0.0, 0.0, 0.0],
    "POLY": [0.4, 0.5, 3.0],
    "RBF": [0.3, 0.0, 3.0],
    "SIGMOID": [0.2, 0.1, 3.0],
}
PER_CLASS = {2: [3, 2], 3: [3, 2, 4], 4: [2, 1, 3, 2]}


def numbers(count: int) -> list[float]:
    return [float(n) for n in np.random.default_rng(count).normal(size=count).astype(np.float32)]


def classifier(kernel: str, classes: int, **more: Any) -> bytes:
    count = sum(PER_CLASS[classes])
    attributes: dict[str, Any] = {
        "classlabels_ints": [7, 2, 5, 9][:classes],
        "coefficients": numbers((classes - 1) * count),
        "kernel_params": KERNELS[kernel],
        "kernel_type": kernel,
        "rho": numbers(classes * (classes - 1) // 2),
        "support_vectors": numbers(count * 4),
        "vectors_per_class": PER_CLASS[classes],
        **more,
    }
    return vectors_file("SVMClassifier", ["label", "scores"], attributes)


def regressor(kernel: str, **more: Any) -> bytes:
    attributes: dict[str, Any] = {
        "coefficients": numbers(5),
        "kernel_params": KERNELS[kernel],
        "kernel_type": kernel,
        "n_supports": 5,
        "rho": [0.3],
        "support_vectors": numbers(20),
        **more,
    }
    return vectors_file("SVMRegressor", ["y"], attributes)


def vectors_file(operator: str, outputs: list[str], attributes: dict[str, Any]) -> bytes:
    given = {name: value for name, value in attributes.items() if value is not None}
    node = helper.make_node(operator, ["x"], outputs, domain="ai.onnx.ml", **given)
    return onnx_file([node], {"x": (40, 4)}, outputs)


def compare_vectors(data: bytes) -> None:
    x = np.random.default_rng(4).normal(size=(40, 4)).astype(np.float32)
    made = run_graph(read_onnx(data, "net.onnx"), {"x": x})
    for mine, wanted in zip(made.values(), run_onnx(data, {"x": x}), strict=True):
        assert mine.dtype == wanted.dtype
        np.testing.assert_allclose(mine, wanted, rtol=1e-4, atol=1e-5)  # type: ignore[arg-type]


@pytest.mark.parametrize("classes", PER_CLASS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_classes_are_those_of_onnx_runtime(kernel, classes):
    compare_vectors(classifier(kernel, classes))


@pytest.mark.parametrize("one_class", [0, 1])
@pytest.mark.parametrize("kernel", KERNELS)
def test_sums_are_those_of_onnx_runtime(kernel, one_class):
    compare_vectors(regressor(kernel, one_class=one_class))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*deprecated in version 1.9:FutureWarning")  # the exporter asks for it
@pytest.mark.parametrize("classes", [2, 3])
def test_what_scikit_learn_exports_is_read(classes, require_package):
    """For three classes the exporter writes what turns votes into scores behind the operator."""
    require_package("skl2onnx")
    from skl2onnx import to_onnx
    from sklearn.svm import SVC

    x = np.random.default_rng(1).normal(size=(60, 4)).astype(np.float32)
    trained = SVC().fit(x, np.digitize(x[:, 0] * x[:, 1], [0.0, 0.4][: classes - 1]))
    sets = {"": 17, "ai.onnx.ml": 3}
    model = to_onnx(trained, x[:1], options={"zipmap": False}, target_opset=sets)
    data = model.SerializeToString()
    graph = read_onnx(data, "svc.onnx", shapes={"X": (1, 4)})
    for row in x[:20]:
        made = run_graph(graph, {"X": row[None]})
        for mine, wanted in zip(made.values(), run_onnx(data, {"X": row[None]}), strict=True):
            np.testing.assert_allclose(mine, wanted, rtol=1e-4, atol=1e-5)  # type: ignore[arg-type]


REFUSED = {
    "texts": (
        classifier("RBF", 2, classlabels_ints=None, classlabels_strings=["a", "b"]),
        "text labels are not supported",
        "train the model with numbers as labels",
    ),
    "probabilities": (
        classifier("RBF", 2, prob_a=[1.0], prob_b=[0.0]),
        "probabilities are not supported: they need an iteration of unknown length",
        "train with probability=False (the labels stay the same), or calibrate with CalibratedClassifierCV",
    ),
    "too few coefficients": (
        classifier("RBF", 3, coefficients=[1.0]),
        "3 counts of vectors, 1 coefficients and 3 rho do not fit 3 classes",
        "",
    ),
    "vectors of another length": (
        regressor("RBF", support_vectors=[1.0] * 15),
        "15 numbers of 5 support vectors do not fit shape [40, 4]",
        "",
    ),
    "another kernel": (
        regressor("RBF", kernel_type="WAVE"),
        "kernel WAVE is not supported",
        "supported: LINEAR, POLY, RBF, SIGMOID",
    ),
    "a transform behind it": (
        regressor("RBF", post_transform="SOFTMAX"),
        "post transform SOFTMAX is not supported",
        "supported: NONE",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_done_is_reported(name):
    data, what, hint = REFUSED[name]
    with pytest.raises(ModelError) as caught:
        read_onnx(data, "net.onnx")
    assert (caught.value.what, caught.value.hint) == (what, hint)


@pytest.mark.parametrize("degree", [np.nan, np.inf, 2.5])
def test_a_degree_that_is_not_a_whole_number_is_a_power(degree):
    graph = read_onnx(classifier("POLY", 2, kernel_params=[0.4, 0.5, degree]), "svm.onnx")
    assert any("pow" in str(node.op) for node in graph.nodes)
