"""Errors that a user can meet: what happened, where, and the fix."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from itertools import takewhile

_COMPARED = 8  # of the nearest names: several may be equally near


class DeployError(Exception):
    """A user's mistake, not a bug in Solder: printed without a traceback, exit status 1.

    `what` states the problem in one line, with the limit in numbers; `where` names the file, node or
    tensor; `hint` is the fix.
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
    """The model file is not a model, is broken, or uses something unsupported."""


class NoModelFileError(ModelError):
    """The file does not exist, or is not a model."""


class BrokenFileError(ModelError):
    """The model file is damaged or violates the rules of its format."""


class UnsupportedError(ModelError):
    """The model uses unsupported operators, types or versions."""


class ArchiveError(ModelError):
    """The archive of a compiled model is incomplete or of another version."""


class FitError(DeployError):
    """The model does not fit the board or the budget."""


class BoardError(DeployError):
    """The board's name or data is wrong."""


class UnknownBoardError(BoardError):
    """No board has that name."""


class BoardFileError(BoardError):
    """A board file or core file violates the rules of such files."""


class CheckError(DeployError):
    """A pass or a schedule changes the results of its input: a mistake of its author."""


class InputError(DeployError):
    """The data given for a run is wrong."""


class OutputError(DeployError):
    """A result cannot be written to the requested place."""


class ToolError(DeployError):
    """A required program is missing or failed."""


class MissingToolError(ToolError):
    """A required program, package or source tree is not on this machine."""


class BuildError(ToolError):
    """The compiler rejects the sources."""


class ExtensionError(DeployError):
    """An extension cannot be used until its package changes."""


class DeviceError(DeployError):
    """The device does not answer, or reports a fault."""


class FiguresError(DeployError):
    """A measured figure is worse than its limit, or could not be measured."""


class MachineError(DeployError):
    """This computer lacks disk space, memory or permissions."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Returns ' - did you mean "x"?' for the nearest known name, or an empty string.

    Of equally near names it is the one that begins the same: "cortex-m55" for "cortex-m5", not "cortex-m85".
    """
    near = difflib.get_close_matches(name, list(known), n=_COMPARED, cutoff=0.6)
    best = max(near, key=lambda each: _nearness(name, each), default="")
    return f' - did you mean "{best}"?' if best else ""


def _nearness(name: str, known: str) -> tuple[float, int]:
    """Returns how alike the names are, and how many letters begin them both."""
    begin = takewhile(lambda letters: letters[0] == letters[1], zip(name, known, strict=False))
    return difflib.SequenceMatcher(None, known, name).ratio(), len(list(begin))
