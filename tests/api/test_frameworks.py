"""Models of scikit-learn, Keras and JAX in one call; what is not installed is not asked for."""

import sys
import warnings
from typing import Any

import numpy as np
import pytest
from error_facts import refused, require_facts

import deploy
from aot.errors import InputError, MissingToolError
from deploy.frameworks.compile_framework_model import CompiledModule
from deploy.frameworks.table import framework_of

FRAMES = 60
SAMPLES = np.random.default_rng(0).normal(size=(FRAMES, 6)).astype(np.float32)
CLASSES = (SAMPLES[:, 0] > SAMPLES[:, 1]).astype(np.int64) + (SAMPLES[:, 2] > 0.5)
NUMBERS = (SAMPLES[:, 0] * 2 + np.sin(SAMPLES[:, 1])).astype(np.float32)


def estimators() -> dict[str, Any]:
    from sklearn import (
        cluster,
        decomposition,
        ensemble,
        feature_selection,
        linear_model,
        naive_bayes,
        neighbors,
        neural_network,
        pipeline,
        preprocessing,
        svm,
        tree,
    )

    pipe = pipeline.make_pipeline
    return {
        "tree": tree.DecisionTreeClassifier(max_depth=5),
        "tree of numbers": tree.DecisionTreeRegressor(max_depth=5),
        "forest": ensemble.RandomForestClassifier(n_estimators=3, max_depth=3),
        "forest of numbers": ensemble.RandomForestRegressor(n_estimators=3, max_depth=3),
        "boosted trees": ensemble.GradientBoostingClassifier(n_estimators=4),
        "isolation forest": ensemble.IsolationForest(n_estimators=5),
        "support vectors": svm.SVC(),
        "support vectors of numbers": svm.SVR(),
        "support vectors of one class": svm.OneClassSVM(),
        "linear support vectors": svm.LinearSVC(),
        "neighbours": neighbors.KNeighborsClassifier(3),
        "neighbours of numbers": neighbors.KNeighborsRegressor(3),
        "naive Bayes": naive_bayes.GaussianNB(),
        "naive Bayes of bits": naive_bayes.BernoulliNB(),
        "a network": neural_network.MLPClassifier((8,), max_iter=20),
        "a network of numbers": neural_network.MLPRegressor(hidden_layer_sizes=(8,), max_iter=20),
        "principal components": decomposition.PCA(3),
        "standard scaler": preprocessing.StandardScaler(),
        "minimum and maximum": preprocessing.MinMaxScaler(),
        "robust scaler": preprocessing.RobustScaler(),
        "k means": cluster.KMeans(3, n_init=1),
        "linear": linear_model.Ridge(),
        "logistic": linear_model.LogisticRegression(),
        "a pipeline": pipe(preprocessing.StandardScaler(), decomposition.PCA(4), svm.SVC()),
        "a pipeline with a choice": pipe(
            feature_selection.SelectKBest(k=3),
            preprocessing.StandardScaler(),
            neighbors.KNeighborsClassifier(3),
        ),
        "a pipeline with a union": pipe(
            pipeline.make_union(decomposition.PCA(2), preprocessing.StandardScaler()),
            neural_network.MLPClassifier((8,), max_iter=20),
        ),
    }


def fitted(estimator: Any, labels: Any = CLASSES) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few rounds are enough here
        np.random.seed(0)  # of which estimators make their choices
        return estimator.fit(SAMPLES, labels)


@pytest.mark.slow
def test_estimators_compute_what_scikit_learn_computes(require_package):
    require_package("sklearn", "skl2onnx")
    for name, estimator in estimators().items():
        model = fitted(estimator, NUMBERS if name.endswith("of numbers") or name == "linear" else CLASSES)
        compiled = deploy.compile(model, "host", example=SAMPLES[:1])
        assert isinstance(compiled, CompiledModule)
        assert compiled.conversion is not None
        assert compiled.conversion.distance < 1e-5, name


@pytest.mark.cc
def test_a_pipeline_on_a_board_has_scikit_learns_classes(require_package):
    require_package("sklearn", "skl2onnx")
    for name in ("a pipeline", "forest"):
        model = fitted(estimators()[name])
        compiled = deploy.compile(model, "host", example=SAMPLES[0])
        found = deploy.run(compiled, SAMPLES[:40]).outputs
        assert np.array_equal(next(iter(found.values())).reshape(-1), model.predict(SAMPLES[:40])), name


@pytest.mark.slow
def test_a_network_of_scikit_learns_becomes_int8(require_package, tmp_path):
    require_package("sklearn", "skl2onnx", "onnxruntime")
    model = fitted(estimators()["a network of numbers"], NUMBERS)
    compiled = deploy.compile(model, "host", example=SAMPLES[:1], calibration=SAMPLES[:50])
    assert isinstance(compiled, CompiledModule)
    assert compiled.conversion is not None
    assert compiled.conversion.framework == "scikit-learn"
    assert compiled.conversion.quantized is not None
    assert compiled.conversion.quantized.refinements[0].signal_to_noise_db > 20
    compiled.save(tmp_path / "net.onnx")
    again = deploy.compile(tmp_path / "net.onnx", "host")
    assert again.artifact.facts.layers == compiled.artifact.facts.layers
    refused(lambda: compiled.save(tmp_path / "net.tflite"), "format .onnx .tflite net.onnx")


def test_a_model_with_labels_compiles_where_no_emulator_is(require_package, monkeypatch):
    """The accuracy of the reference is known all the same, and what the board's lacks."""
    require_package("sklearn", "skl2onnx", "onnxruntime")

    def no_tool(*_: object) -> None:
        raise MissingToolError("no program on this machine runs it", "unicorn", "pip install unicorn")

    monkeypatch.setattr("deploy.frameworks.compile_framework_model.verify_model", no_tool)
    network = fitted(estimators()["a network of numbers"], np.eye(3)[CLASSES])
    compiled = deploy.compile(
        network, "nucleo-f446re", example=SAMPLES[:1], calibration=SAMPLES[:50], labels=CLASSES[:50]
    )
    assert isinstance(compiled, CompiledModule)
    assert compiled.conversion is not None
    assert compiled.conversion.verdict is None
    told = str(compiled.conversion)
    assert "not run on a board: no program on this machine runs it; unicorn; pip install unicorn" in told
    assert "% by the reference here" in told


@pytest.mark.slow
def test_values_of_a_network_get_16_bits_as_a_bound_asks(require_package):
    require_package("sklearn", "skl2onnx", "onnxruntime")
    model = fitted(estimators()["a network of numbers"], NUMBERS)
    given: dict[str, Any] = {"example": SAMPLES[:1], "calibration": SAMPLES[:50]}
    compiled = deploy.compile(model, "host", **given, activation_type="int16")
    assert isinstance(compiled, CompiledModule)
    assert compiled.conversion is not None
    assert compiled.conversion.quantized is not None
    widened = compiled.conversion.quantized.widened
    assert widened is not None
    assert widened.signal_to_noise_db > widened.int8_db + 3
    assert "activations   of 16 bits in " in str(compiled)
    with pytest.raises(InputError, match="mixed activations need signal_to_noise"):
        deploy.compile(model, "host", **given, activation_type="mixed")
    with pytest.raises(InputError, match='activation_type "int4" is not known'):
        deploy.compile(model, "host", **given, activation_type="int4")


def own_step() -> Any:
    from sklearn.base import BaseEstimator, TransformerMixin

    class Doubled(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types here
        """A step that nobody exports."""

        def fit(self, x: Any, y: Any = None) -> Any:
            return self

        def transform(self, x: Any) -> Any:
            return 2 * x

    return Doubled()


@pytest.mark.slow
def test_what_skl2onnx_cannot_export_is_reported_with_its_step_and_line(require_package):
    require_package("sklearn", "skl2onnx")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = fitted(make_pipeline(StandardScaler(), own_step()))
    with pytest.raises(deploy.DeployError) as caught:
        deploy.compile(model, "host", example=SAMPLES[:1])
    line = own_step.__code__.co_firstlineno + 3
    head, where, hint = str(caught.value).splitlines()[:3]
    assert head == "error: skl2onnx cannot export the estimator"
    assert where == f"  Pipeline, step doubled (Doubled), test_frameworks.py, line {line}"
    assert hint.startswith("  hint: it reports: ")


@pytest.mark.slow
def test_classes_that_are_texts_are_reported(require_package):
    require_package("sklearn", "skl2onnx")
    model = fitted(estimators()["tree"], np.array(["no", "yes", "perhaps"])[CLASSES])
    refused(
        lambda: deploy.compile(model, "host", example=SAMPLES[:1]),
        "DecisionTreeClassifier 'no' classes texts such np.unique(labels return_inverse=True)[1] numbers",
    )


@pytest.mark.slow
def test_what_is_not_read_is_reported_with_the_estimator(require_package):
    require_package("sklearn", "skl2onnx")
    from sklearn.svm import SVC

    model = fitted(SVC(probability=True))
    with pytest.raises(deploy.DeployError) as caught:
        deploy.compile(model, "host", example=SAMPLES[:1])
    assert str(caught.value).splitlines()[:3] == [
        "error: probabilities are not supported: they need an iteration of unknown length",
        '  at SVMClassifier #0 "SVMc" (estimator.onnx)',
        "  SVC",
    ]


@pytest.mark.slow
def test_labels_need_a_row_of_scores(require_package):
    require_package("sklearn", "skl2onnx")
    words: dict[str, Any] = {"calibration": SAMPLES[:9], "labels": CLASSES[:9], "example": SAMPLES[:1]}
    with pytest.raises(deploy.DeployError, match="one for each class, but the first output has shape"):
        deploy.compile(fitted(estimators()["tree"]), "host", **words)


@pytest.mark.slow
def test_an_estimator_needs_an_example(require_package):
    require_package("sklearn")
    refused(
        lambda: deploy.compile(fitted(estimators()["tree"]), "host"),
        "scikit-learn estimator exported example deploy.compile(estimator board= example=samples[:1]",
    )


def test_files_and_functions_are_of_no_framework_that_is_not_loaded():
    assert framework_of("model.onnx") is None
    assert framework_of(int) is None


def _require_stateful_layers_keep_their_states(keras: Any) -> None:
    """The exported model begins in the state that the layers have, and leaves theirs as it is."""
    layers = keras.layers
    cells = [layers.LSTM(8, stateful=True, return_sequences=True), layers.GRU(5, stateful=True)]
    listening = keras.Sequential([keras.Input(batch_shape=(1, 4, 3)), *cells, layers.Dense(2)])
    steps = np.random.default_rng(2).normal(size=(9, 1, 4, 3)).astype(np.float32)
    listening(steps[0])
    before = [state.numpy() for cell in cells for state in keras.tree.flatten(cell.states)]
    assert all(each.any() for each in before)
    compiled = deploy.compile(listening, "host", example=steps[0])
    assert isinstance(compiled, CompiledModule)
    assert compiled.conversion is not None
    assert compiled.conversion.judgement.inputs >= 21
    after = [state.numpy() for cell in cells for state in keras.tree.flatten(cell.states)]
    assert all(map(np.array_equal, before, after))
    model = deploy.in_process(compiled)
    for step in steps[1:]:
        (found,) = model.run(step).values()
        assert np.allclose(found, listening(step), rtol=1e-4, atol=1e-5)


def _require_samples_for_two_inputs(keras: Any) -> None:
    """A list has an array for each input, as for Keras itself, and a dict the names of Keras.

    The example may be a dict, too.
    """
    image, aux = keras.Input((4, 4, 1), name="image"), keras.Input((3,), name="aux")
    joined = keras.layers.Concatenate()([keras.layers.Flatten()(image), aux])
    model = keras.Model([image, aux], keras.layers.Dense(2)(joined))
    rng = np.random.default_rng(3)
    images, more = (rng.normal(size=(20, *s)).astype(np.float32) for s in ((4, 4, 1), (3,)))
    example = (images[:1], more[:1])
    by_name = deploy.compile(model, "host", example={"aux": more[:1], "image": images[:1]})
    inputs = {"image": images[:1], "aux": more[:1]}
    (found,) = deploy.in_process(by_name).run(inputs).values()
    assert np.allclose(found, model([images[:1], more[:1]]), rtol=1e-4, atol=1e-5)
    refused(
        lambda: deploy.compile(model, "host", example={"image": images[:1], "aus": more[:1]}),
        "example arrays for image, aus inputs image, aux tuple",
    )
    forms = [
        deploy.compile(model, "host", example=example, calibration=given)
        for given in ([images, more], {"image": images, "aux": more}, {"input_0": images, "input_1": more})
    ]
    losses = [
        each.conversion.quantized.refinements[0]
        for each in forms
        if isinstance(each, CompiledModule) and each.conversion and each.conversion.quantized
    ]
    assert [each.signal_to_noise_db for each in losses] == [losses[0].signal_to_noise_db] * 3
    refused(
        lambda: deploy.compile(model, "host", example=example, calibration=[images, more[:, :2]]),
        "calibration list arrays different shapes [20, 4, 4, 1], [20, 2] input_0 [1, 4, 4, 1] input_1 [1, 3]",
    )
    refused(
        lambda: deploy.compile(model, "host", example=(images[:5], more[:5]), calibration=[images, more]),
        "example batch 5 calibration example=samples[:1]",
    )


def _require_names_and_order(keras: Any) -> None:
    """Inputs and outputs have the names that the model gives them, and its order."""
    layers, rng = keras.layers, np.random.default_rng(4)
    x = keras.Input((6,), name="signal")
    z, a = layers.Dense(3, name="zone")(x), layers.Dense(3, name="alarm")(x)
    sample = rng.normal(size=(1, 6)).astype(np.float32)
    for outputs, names in (([z, a], ["zone", "alarm"]), ({"where": z, "is": a}, ["is", "where"])):
        model = keras.Model(x, outputs)
        for samples in (None, rng.normal(size=(20, 6)).astype(np.float32)):
            compiled = deploy.compile(model, "host", example=sample, calibration=samples)
            facts = compiled.artifact.facts
            assert [each.name for each in facts.inputs] == ["signal"]
            assert [each.name for each in facts.outputs] == names
        expected = keras.tree.flatten(model(sample))
        float_model = deploy.compile(model, "host", example=sample)
        found = deploy.in_process(float_model).run(sample).values()
        assert all(np.allclose(*pair, atol=1e-5) for pair in zip(found, expected, strict=True))
    unnamed = keras.Sequential([keras.Input((6,)), layers.Dense(2, name="scores")])
    facts = deploy.compile(unnamed, "host", example=sample).artifact.facts
    assert [each.name for each in (*facts.inputs, *facts.outputs)] == ["input_0", "scores"]


@pytest.mark.slow
def test_keras_models_are_converted_by_litert_and_their_layers_named():
    tensorflow = pytest.importorskip("tensorflow")
    keras = pytest.importorskip("keras")
    layers = keras.layers
    picture = keras.Sequential(
        [
            *(keras.Input((16, 16, 1), name="image"), layers.Conv2D(4, 3, activation="relu")),
            *(layers.BatchNormalization(), layers.GlobalAveragePooling2D(), layers.Dense(3)),
        ]
    )
    pictures = np.random.default_rng(1).normal(size=(20, 16, 16, 1)).astype(np.float32)
    compiled = deploy.compile(picture, "host", example=pictures[:1], calibration=pictures)
    assert isinstance(compiled, CompiledModule)
    assert compiled.conversion is not None
    assert compiled.conversion.distance < 1e-4
    assert "by LiteRT's converter; outputs, signal to noise: " in str(compiled)
    assert {layer.op for layer in compiled.artifact.facts.layers} >= {"quantize", "conv2d", "dense"}
    wide = deploy.compile(
        picture, "host", example=pictures[:1], calibration=pictures, activation_type="int16"
    )
    assert isinstance(wide, CompiledModule)
    assert wide.conversion is not None
    assert wide.conversion.quantized is not None
    assert wide.conversion.quantized.widened is not None
    words = keras.Sequential([keras.Input((10, 6)), layers.LSTM(8), layers.Dense(3)])
    recurrent = deploy.compile(words, "host", example=np.ones((1, 10, 6), np.float32))
    assert isinstance(recurrent, CompiledModule)
    assert recurrent.conversion is not None
    assert recurrent.conversion.distance < 1e-4

    _require_stateful_layers_keep_their_states(keras)
    _require_samples_for_two_inputs(keras)
    _require_names_and_order(keras)

    class Odd(layers.Layer):  # type: ignore[misc,name-defined]  # Keras has no types here
        """A layer that LiteRT lacks."""

        def call(self, x: Any) -> Any:
            return tensorflow.linalg.svd(x)[0]

    odd = keras.Sequential([keras.Input((4, 4)), layers.Dense(4), Odd(name="odd")])
    with pytest.raises(deploy.DeployError) as caught:
        deploy.compile(odd, "host", example=np.zeros((1, 4, 4), np.float32))
    line = Odd.call.__code__.co_firstlineno
    require_facts(
        caught.value,
        f"LiteRT's converter convert model {odd.name} Odd) test_frameworks.py {line} layer 'tf.Svd' "
        "reports neither",
    )


@pytest.mark.slow
def test_jax_functions_are_exported_and_their_lines_named():
    jax = pytest.importorskip("jax")
    pytest.importorskip("jax2onnx")
    weights = np.random.default_rng(1).normal(size=(4, 3)).astype(np.float32)

    def net(x: Any) -> Any:
        return jax.numpy.tanh(x @ weights) + jax.nn.softmax(x[:, :3])

    rows = np.random.default_rng(2).normal(size=(9, 4)).astype(np.float32)
    for function in (net, jax.jit(net)):
        compiled = deploy.compile(function, "host", example=jax.numpy.ones((1, 4)), calibration=rows)
        assert isinstance(compiled, CompiledModule)
        assert compiled.conversion is not None
        assert compiled.conversion.framework == "JAX"
        assert compiled.conversion.distance < 1e-4

    def strange(x: Any) -> Any:
        y = x + 1
        return jax.lax.linalg.schur(y)[0]

    with pytest.raises(deploy.DeployError) as caught:
        deploy.compile(strange, "host", example=jax.numpy.ones((4, 4)))
    line = strange.__code__.co_firstlineno + 2
    head, where = str(caught.value).splitlines()[:2]
    assert head == "error: jax2onnx cannot export the function"
    assert where == f"  strange, test_frameworks.py, line {line}"


def test_boosted_trees_name_the_package_that_exports_them(require_package, monkeypatch):
    require_package("sklearn", "skl2onnx", "lightgbm")
    import lightgbm

    for name in [name for name in sys.modules if name.partition(".")[0] == "onnxmltools"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "onnxmltools", None)
    rows = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    trees = lightgbm.LGBMRegressor(n_estimators=2, verbose=-1).fit(rows, rows.sum(axis=1))
    with pytest.raises(deploy.DeployError, match=r"(?s)lightgbm are exported by onnxmltools.*pip install"):
        deploy.compile(trees, board="host", example=rows[:1])


@pytest.mark.parametrize(("package", "name"), [("lightgbm", "LGBM"), ("xgboost", "XGB")])
def test_boosted_trees_compute_what_their_package_computes(package, name, require_package):
    pytest.importorskip("onnxmltools")
    booster = pytest.importorskip(package)
    require_package("sklearn", "skl2onnx")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rows = np.random.default_rng(0).normal(size=(90, 3)).astype(np.float32)
    classes = rows.argmax(axis=1)
    for trees, targets in (
        (getattr(booster, f"{name}Classifier")(n_estimators=3), classes),
        (getattr(booster, f"{name}Regressor")(n_estimators=3), rows.sum(axis=1)),
        (make_pipeline(StandardScaler(), getattr(booster, f"{name}Classifier")(n_estimators=3)), classes),
    ):
        compiled = deploy.compile(trees.fit(rows, targets), board="host", example=rows[:1])
        assert isinstance(compiled, CompiledModule)
        assert compiled.conversion is not None
        assert compiled.conversion.distance < 1e-4
