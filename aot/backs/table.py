"""Back ends by name: decisions of a model's output, declared as classes:average=4,threshold=0.7,hold=3."""

from __future__ import annotations

from collections.abc import Mapping

from aot.backs.anomaly import Anomaly
from aot.backs.back import Back
from aot.backs.classes import Classes
from aot.backs.fomo import Fomo
from aot.backs.torchvision_ssd import Ssd
from aot.backs.ultralytics import Yolov5, Yolov8
from aot.errors import did_you_mean
from aot.frontend.declared import DeclarationError, declared_word, parted, read_parameters

BACKS: Mapping[str, type[Back]] = {
    "anomaly": Anomaly,
    "classes": Classes,
    "edge_impulse.fomo": Fomo,
    "torchvision.ssd": Ssd,
    "ultralytics.yolov5": Yolov5,
    "ultralytics.yolov8": Yolov8,
}


def read_back(given: object) -> str:
    """The declaration as one word, checked: of such a word, or of a table with a name."""
    name, values = parted(given, "back end")
    _back_of(name, values)
    return declared_word(name, values)


def declared_back(word: str) -> Back:
    """The back end that a declaration means. Raises DeclarationError."""
    return _back_of(*parted(word, "back end"))


def _back_of(name: str, values: Mapping[str, object]) -> Back:
    if name not in BACKS:
        raise DeclarationError(
            f'"{name}" is not a back end{did_you_mean(name, BACKS)}', f"known: {', '.join(BACKS)}"
        )
    made = read_parameters(BACKS[name], values, name)
    made.check()
    return made
