"""The errors a user can meet: what happened, where, and the way out."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class DeployError(Exception):
    """A user's problem, not ours: printed without a traceback, exit status 1.

    `what` says in one line what is wrong, with the limit in numbers; `where` names
    the file, node or tensor; `hint` is the way out.
    """

    def __init__(self, what: str, where: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        lines = [f"error: {self.what}"]
        lines += [f"  {line}" for line in self.where.splitlines()]
        if self.hint:
            first, *rest = self.hint.splitlines()
            lines += [f"  hint: {first}", *(f"        {line}" for line in rest)]
        return "\n".join(lines)


class ModelError(DeployError):
    """The model file is not one, is broken, or asks for what is not supported."""


class NoModelFileError(ModelError):
    """The file is not there, or is something else than a model."""


class BrokenFileError(ModelError):
    """The model file is damaged, or breaks the rules of its format."""


class UnsupportedError(ModelError):
    """The model asks for operators, types or versions that are not supported."""


class ArchiveError(ModelError):
    """The archive of a compiled model is not whole, or of another version."""


class FitError(DeployError):
    """The model does not fit the board or the budget."""


class BoardError(DeployError):
    """The board's name or data is wrong."""


class UnknownBoardError(BoardError):
    """There is no board of that name."""


class BoardFileError(BoardError):
    """The file of a board or a core breaks the rules of such files."""


class CheckError(DeployError):
    """A pass or a schedule makes something else than what it was given: a mistake of its author's."""


class InputError(DeployError):
    """The data given for a run is wrong."""


class OutputError(DeployError):
    """A result cannot be written where it was asked for."""


class ToolError(DeployError):
    """A program that is needed is missing or failed."""


class MissingToolError(ToolError):
    """A program, a package or a tree that is needed is not on this machine."""


class BuildError(ToolError):
    """The compiler does not take the sources."""


class ExtensionError(DeployError):
    """An extension cannot be used as it is: its package has to change."""


class DeviceError(DeployError):
    """The device does not answer, or answers with a fault."""


class FiguresError(DeployError):
    """A measured figure is worse than it may be, or could not be measured."""


class MachineError(DeployError):
    """This computer lacks room, memory or rights."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Writes ' - did you mean "x"?' for the nearest known name, or nothing."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f' - did you mean "{near[0]}"?' if near else ""
