"""Refusals of a file that say more than a text: what option closes them, which operator nobody reads."""

from __future__ import annotations

from aot.errors import DeployError, ModelError, UnsupportedError


class LeftOpenError(ModelError):
    """The file leaves open what `options` of the command line can say."""

    def __init__(self, what: str, where: str, hint: str, options: str) -> None:
        super().__init__(what, where, hint)
        self.options = options


class NeedsValueError(LeftOpenError):
    """An importer has to know the elements of a value that is computed or given when the model runs."""

    def __init__(self, error: DeployError, graph_input: str | None, options: str) -> None:
        super().__init__(error.what, error.where, error.hint, options)
        self.graph_input = graph_input  # the model's input, where it is one


class NoImporterError(UnsupportedError):
    """Nobody reads the operator; `label` names its node."""

    def __init__(self, error: DeployError, operator: str, label: str) -> None:
        super().__init__(error.what, error.where, error.hint)
        self.operator = operator
        self.label = label


class AlreadyReportedError(ModelError):
    """A refusal in a body that has been collected already."""
