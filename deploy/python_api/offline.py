"""The functions of `import deploy` that need no connected board."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from boards.cores import load_core
from codegen.options import CompileOptions, read_options
from deploy.cli.console import OnProgress, reports_progress
from deploy.compiler.archive_diff import ArchiveDifference
from deploy.compiler.board_or_target import board_or_target, require_board_or_target
from deploy.compiler.compile_model import Compiled, compile_for
from deploy.compiler.jobs import compile_or_explain, job_for
from deploy.devices.build_cache import cached
from deploy.frameworks.framework import ModuleOptions, require_no_module_options
from deploy.frameworks.table import framework_of
from deploy.inspection.inspect_model import Inspection, inspect_file, inspect_model
from deploy.python_api.model import (
    Model,
    imported_with,
    model_path,
    options_with,
    read_artifact,
    require_same,
)
from deploy.python_api.option_keywords import accepts_options
from platforms.shared_library import HostModel
from platforms.shared_library import build as build_library
from platforms.toolchains import find_toolchain


@accepts_options()
@reports_progress
def compile(
    model: str | Path | Model | Callable[..., Any],  # of PyTorch, Keras, scikit-learn or JAX
    board: str | None = None,
    target: str | None = None,
    example: Any = None,
    calibration: Any = None,
    labels: Any = None,
    signal_to_noise: Any = None,  # a number
    activation_type: Any = None,  # a string
    *,
    on_progress: Any = None,  # OnProgress
    **options: Any,
) -> Compiled:
    """Compiles a model to C sources with a static memory plan for a board. `save(path)` writes the archive.

    The model that a framework's was exported to is saved under a name in .onnx, for Keras in .tflite.

    Instead of a board, `target` may name a core, features and memories: "cortex-m4+fpu,ram=256K". A PyTorch
    module, a Keras model, a scikit-learn estimator or a JAX function is exported; `example` is an example of
    its input. With samples for `calibration` it is quantized to int8. With their `labels`, accuracy is
    measured here and on an emulated board; see `conversion` of the result. With `signal_to_noise`, layers get
    weights of four bits as long as outputs stay that many decibels above the resulting error. With
    `activation_type="mixed"` as few values as that needs have 16 bits, and with `activation_type="int16"` all
    that can. Raises ModelError if the model is not supported, FitError if it does not fit.
    """
    framework = framework_of(model)
    if framework is not None:
        from deploy.frameworks.compile_framework_model import (
            compile_module,  # it measures, so it imports most of this package
        )

        place, known = require_board_or_target(board, target), read_options(options)
        words = ModuleOptions(example, calibration, labels, signal_to_noise, activation_type)
        return compile_module(model, framework, words, place, known)
    model = cast("str | Path | Model", model)
    known = options_with(model, options)
    imported = imported_with(model, known)  # first: a file that is no model needs this error
    require_no_module_options(ModuleOptions(example, calibration, labels, signal_to_noise, activation_type))
    return compile_for(imported, require_board_or_target(board, target), known)


@accepts_options()
@reports_progress
def inspect(
    model: str | Path | Model | Compiled,
    board: str | None = None,
    target: str | None = None,
    *,
    on_progress: OnProgress | None = None,
    **options: Any,
) -> Inspection:
    """Reports what a model contains and needs, and with a board or a target whether it fits.

    print() shows the page, as_json() returns its facts, layer(n) shows how a layer is computed.
    """
    if isinstance(model, Compiled):
        require_same(model, board, options)
        return Inspection(model.report, model.board, model.job, model.model)
    known, found = options_with(model, options), board_or_target(board, target)
    if isinstance(model, Model):
        return inspect_model(imported_with(model, known), found, known)
    return inspect_file(model_path(model), found, known)


def diff(one: str | Path | Compiled, other: str | Path | Compiled) -> ArchiveDifference:
    """Compares two compiled models or archives; the result is false if they are the same."""
    return ArchiveDifference(*(read_artifact(each) for each in (one, other)))


@accepts_options()
@reports_progress
def in_process(
    model: str | Path | Model | Compiled, *, on_progress: OnProgress | None = None, **options: Any
) -> HostModel:
    """Compiles the model's C for this machine and loads it; its `run` maps arrays by name to arrays.

    A model that is compiled for a board is compiled again for this machine, as it was read.
    """
    if isinstance(model, Compiled):
        require_same(model, None, options)
        known, imported = CompileOptions(), model.job.model
    else:
        known = options_with(model, options)
        imported = imported_with(model, known)
    job, _ = job_for(imported, load_core("host").target(), known)
    compiled = compile_or_explain(job)
    sources = compiled.sources
    key = hashlib.sha256(json.dumps([sorted(sources.items()), find_toolchain(job.target).version]).encode())
    name = f"{compiled.name}-library-{key.hexdigest()[:16]}"
    place = cached(name, lambda folder: _keep_nothing(build_library(sources, folder)))
    (library,) = place.glob("*.so")
    return HostModel(library, compiled.name)


def _keep_nothing(_library: HostModel) -> None:
    """Does nothing; the library was loaded from a folder that will be renamed."""
