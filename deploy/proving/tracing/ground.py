"""The grounds on which evidence rests. If one changes, chapters that depend on it must be run again."""

from __future__ import annotations

from enum import Enum


class Ground(Enum):
    """A ground. Its value is shown on the pages and in evidence.json."""

    MODEL_FILE = "the model file"
    OPERATORS = "operators and their scales"
    WEIGHTS = "constants of operators"
    CODE = "functions of the C"
    CONSTANTS = "constants of the C"
    TEXT = "the C with its comments"
    RUNTIME = "the device runtime"
    TARGET = "core and flags of the compiler"
    BOARD = "the board"
    PROJECT = "files of the project"
    SOLDER = "the version of Solder"


MODEL = (Ground.OPERATORS, Ground.WEIGHTS)
PROGRAM = (Ground.CODE, Ground.CONSTANTS)
FIRMWARE = (Ground.RUNTIME, Ground.TARGET, Ground.BOARD)
