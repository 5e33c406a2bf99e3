"""scikit-learn estimators and pipelines, exported to ONNX by skl2onnx."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from aot.distribution import pip_install
from aot.errors import InputError, MissingToolError, ToolError
from aot.ir.types import Array
from deploy.frameworks.framework import Framework, FrameworkModel, Sample, as_array
from deploy.frameworks.user_lines import defined_at

_OPSETS = {"": 17, "ai.onnx.ml": 3}
_TENSORS = {"zipmap": False}  # probabilities as a tensor instead of a dictionary
_SECOND = ("predict_proba", "decision_function", "transform")  # the first one that exists
# Package -> module and function of onnxmltools that convert its estimators.
_BOOSTERS = {"lightgbm": ("LightGbm", "convert_lightgbm"), "xgboost": ("XGBoost", "convert_xgboost")}
_LONGEST = 200  # maximum length of a converter's message


def _is_estimator(model: object) -> bool:
    base = sys.modules.get("sklearn.base")
    return base is not None and isinstance(model, base.BaseEstimator)


class _Estimator(FrameworkModel):
    """A fitted estimator with a row of numbers as input."""

    def __init__(self, estimator: Any, examples: Sequence[Any]) -> None:
        self._estimator = estimator
        row = np.asarray(examples[0], dtype=np.float32)
        self._examples = [row.reshape(1, -1) if row.ndim == 1 else row[:1]]

    @property
    def name(self) -> str:
        return type(self._estimator).__name__

    @property
    def examples(self) -> Sequence[Any]:
        return self._examples

    def exported(self) -> bytes:
        try:
            from skl2onnx import to_onnx
            from skl2onnx.common.data_types import FloatTensorType
        except ImportError as error:
            raise MissingToolError(
                "scikit-learn's estimators are exported by skl2onnx, which is not installed",
                self.name,
                pip_install("sklearn"),
            ) from error
        self._require_numbers()
        _register_boosters(self._estimator)
        types = [("X", FloatTensorType(list(self._examples[0].shape)))]
        reasons = []
        for options in (_TENSORS, None):  # estimators without probabilities reject this option
            try:
                chosen = {id(self._estimator): options} if options else None
                with _quiet():
                    made = to_onnx(self._estimator, initial_types=types, options=chosen, target_opset=_OPSETS)
                return bytes(made.SerializeToString())
            except Exception as error:  # any exception is about this estimator
                reasons.append(error)
        says = (str(reasons[1]) or type(reasons[1]).__name__).splitlines()[0][:_LONGEST]
        where = ", ".join(filter(None, (self.name, self.place_of(str(reasons[1])))))
        raise ToolError("skl2onnx cannot export the estimator", where, f"it reports: {says}") from reasons[1]

    def outputs(self, sample: Sample) -> list[Array]:
        """Returns the class or value and, if exported, probabilities, scores or distances."""
        (row,) = sample.values()
        known = [name for name in _SECOND if hasattr(self._estimator, name)]
        asked = ["predict", *known[:1]] if hasattr(self._estimator, "predict") else ["transform"]
        with _quiet():
            return [as_array(getattr(self._estimator, name)(row)) for name in asked]

    def place_of(self, told: str) -> str:
        """Returns the step named in a message, and where the user defined its class."""
        for name, step in _steps("", self._estimator):
            if name and type(step).__name__ in told:
                line = defined_at(type(step))
                return ", ".join(filter(None, (f"step {name} ({type(step).__name__})", line)))
        return defined_at(type(self._estimator))

    def _require_numbers(self) -> None:
        classes = np.asarray(getattr(self._estimator, "classes_", []))
        if classes.dtype.kind not in "iub" and classes.size:
            raise InputError(
                f"the classes of {self.name} are texts, such as {str(classes.flat[0])!r}, "
                "but boards need numbers",
                hint="fit it with numbers: np.unique(labels, return_inverse=True)[1]",
            )


def _register_boosters(estimator: object) -> None:
    """Teaches skl2onnx the estimators of LightGBM and XGBoost, also in pipelines. Raises MissingToolError."""
    kinds = {type(step) for _, step in _steps("", estimator)}
    for kind in kinds:
        package = kind.__module__.partition(".")[0]
        if package not in _BOOSTERS or not kind.__name__.endswith(("Classifier", "Regressor")):
            continue
        module, function = _BOOSTERS[package]
        try:
            found = import_module(f"onnxmltools.convert.{package}.operator_converters.{module}")
        except ImportError as error:
            raise MissingToolError(
                f"estimators of {package} are exported by onnxmltools, which is not installed",
                kind.__name__,
                "pip install onnxmltools",
            ) from error
        _register(kind, getattr(found, function))


def _register(kind: type, convert: Callable[..., None]) -> None:
    from skl2onnx import update_registered_converter
    from skl2onnx.common import shape_calculator as shapes

    options: dict[str, Any]
    if kind.__name__.endswith("Classifier"):
        shape = shapes.calculate_linear_classifier_output_shapes
        options = {"nocl": [True, False], "zipmap": [True, False, "columns"]}
    else:
        shape, options = shapes.calculate_linear_regressor_output_shapes, {"split": None}
    update_registered_converter(kind, f"Solder{kind.__name__}", shape, convert, options=options)


@contextmanager
def _quiet() -> Iterator[None]:
    """Hides scikit-learn's deprecation warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _steps(name: str, estimator: Any) -> Iterator[tuple[str, Any]]:
    """Yields an estimator after the parts of pipelines and the like."""
    parts = [
        *(getattr(estimator, "steps", None) or ()),
        *(getattr(estimator, "transformer_list", None) or ()),
        *((part[0], part[1]) for part in getattr(estimator, "transformers", None) or ()),
    ]
    for part, inner in parts:
        yield from _steps(f"{name}.{part}" if name else part, inner)
    yield name, estimator


SKLEARN = Framework("scikit-learn", "estimator", "estimator.onnx", "samples[:1]", _is_estimator, _Estimator)
