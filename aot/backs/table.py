"""The table of back ends, and how to declare one: classes:average=4,threshold=0.7,hold=3."""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import TYPE_CHECKING, cast

from aot.errors import did_you_mean
from aot.frontend.declared import DeclarationError, declared_word, parted, read_parameters

if TYPE_CHECKING:
    from aot.backs.back import Back

# The module here and its class: most models have no back end, and none has two.
BACKS: Mapping[str, str] = {
    "anomaly": "anomaly.Anomaly",
    "classes": "classes.Classes",
    "edge_impulse.fomo": "fomo.Fomo",
    "torchvision.ssd": "torchvision_ssd.Ssd",
    "ultralytics.yolov5": "ultralytics.Yolov5",
    "ultralytics.yolov8": "ultralytics.Yolov8",
}


def read_back(given: object) -> str:
    """Checks a declaration, given as text or as a table with a name, and returns it as text."""
    name, values = parted(given, "back end")
    _back_of(name, values)
    return declared_word(name, values)


def declared_back(word: str) -> Back:
    """Returns the back end of a declaration. Raises DeclarationError."""
    return _back_of(*parted(word, "back end"))


def _back_of(name: str, values: Mapping[str, object]) -> Back:
    if name not in BACKS:
        raise DeclarationError(
            f'"{name}" is not a back end{did_you_mean(name, BACKS)}', f"known: {', '.join(BACKS)}"
        )
    parameters = cast("type[Back]", resolve_name(f"aot.backs.{BACKS[name]}"))
    made = read_parameters(parameters, values, name)
    made.check()
    return made
