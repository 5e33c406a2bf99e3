"""Errors of reading ONNX files that carry data: options that help, operators without an importer."""

from __future__ import annotations

from aot.errors import DeployError, ModelError, UnsupportedError


class LeftOpenError(ModelError):
    """The file leaves something open that `options` of the command line can set."""

    def __init__(self, what: str, where: str, hint: str, options: str) -> None:
        super().__init__(what, where, hint)
        self.options = options


class NeedsValueError(LeftOpenError):
    """An importer needs the elements of a value that is computed or given at run time."""

    def __init__(self, error: DeployError, graph_input: str | None, options: str) -> None:
        super().__init__(error.what, error.where, error.hint, options)
        self.graph_input = graph_input  # the model's input, if it is one


class NoImporterError(UnsupportedError):
    """No importer supports the operator; `label` names its node."""

    def __init__(self, error: DeployError, operator: str, label: str) -> None:
        super().__init__(error.what, error.where, error.hint)
        self.operator = operator
        self.label = label


class AlreadyReportedError(ModelError):
    """An error in a body that has been collected already."""
