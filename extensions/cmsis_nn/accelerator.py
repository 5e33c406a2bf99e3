"""Arm's CMSIS-NN: integer layers become calls of the user's copy of the library."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from codegen.accelerators.accelerator import Accelerator, AcceleratorOption
from codegen.option_kinds import Text, WrongValueError
from extensions.cmsis_nn import wide, wide_elements
from extensions.cmsis_nn.convolutions import CONV2D, DENSE, DEPTHWISE
from extensions.cmsis_nn.elements import ADD, MUL, SOFTMAX
from extensions.cmsis_nn.library import HINT, cmsis_nn
from extensions.cmsis_nn.lstm import LSTM, WIDE_LSTM
from extensions.cmsis_nn.pools import AVERAGE_POOL, MAX_POOL
from extensions.cmsis_nn.strategies import LibraryCall, strategy
from extensions.cmsis_nn.svdf import FUNCTIONS, svdf_regions

_CALLS: Mapping[str, tuple[LibraryCall, ...]] = {
    "conv2d": (CONV2D, wide.CONV2D),
    "depthwise_conv2d": (DEPTHWISE, wide.DEPTHWISE),
    "dense": (DENSE, wide.DENSE),
    "average_pool2d": (AVERAGE_POOL, wide_elements.AVERAGE_POOL),
    "max_pool2d": (MAX_POOL, wide_elements.MAX_POOL),
    "softmax": (SOFTMAX, wide_elements.SOFTMAX, wide_elements.SOFTMAX_TO_WIDE),
    "add": (ADD, wide_elements.ADD),
    "mul": (MUL, wide_elements.MUL),
    "recurrent": (LSTM, WIDE_LSTM),
}
_PATH = AcceleratorOption("path", Text("FOLDER"), "", "folder of CMSIS-NN, with Include and Source in it")


@cache
def _of(folder: str) -> Accelerator:
    strategies = {op: tuple(strategy(call, folder) for call in calls) for op, calls in _CALLS.items()}
    return Accelerator(_SUMMARY, strategies, svdf_regions(folder), options=(_PATH,), configured=_configured)


def _configured(settings: Mapping[str, Any]) -> Accelerator:
    folder = settings["path"]
    if not folder:
        raise WrongValueError('"cmsis-nn" needs path=FOLDER, the folder of your CMSIS-NN', HINT)
    found = cmsis_nn(folder)
    for op, calls in _CALLS.items():
        for call in calls:
            found.require(call.function, op)  # before anything is compiled
    for each in FUNCTIONS.values():
        found.require(each.function, "an SVDF")
    return _of(folder)


_SUMMARY = "integer layers with Arm's CMSIS-NN, which you provide in a folder"
ACCELERATOR = _of("")
