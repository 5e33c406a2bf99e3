"""Attributes of custom operators: a FlexBuffer map by name. Damaged maps are reported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flatbuffers import flexbuffers

from aot.frontend.tflite.operation import TfliteOperator

_CORRUPTED = "the file looks corrupted: get or convert it again"


def custom_options(node: TfliteOperator) -> Mapping[str, Any]:
    """Returns the map; empty if the operator has no options."""
    table = node.table
    if not table.CustomOptionsLength():
        return {}
    try:
        found = flexbuffers.Loads(bytearray(table.CustomOptionsAsNumpy().tobytes()))
    except Exception as error:  # a damaged file may raise anything
        raise node.fail(f"its options cannot be read: {error}", _CORRUPTED) from None
    return found if isinstance(found, dict) else {}


def whole_options(node: TfliteOperator, *names: str) -> tuple[int, ...]:
    """Returns attributes that must be present and integers from 0 on."""
    known = custom_options(node)
    bad = [name for name in names if not isinstance(known.get(name), int) or not 0 <= known[name] < 2**31]
    if bad:
        raise node.fail(f"its options {', '.join(bad)} must be whole numbers, 0 or more", _CORRUPTED)
    return tuple(int(known[name]) for name in names)
