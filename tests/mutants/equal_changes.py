"""Changes that survive because nobody could notice them: what is changed (code_changes.py) -> why."""

from __future__ import annotations

from collections.abc import Mapping

REASONS: Mapping[str, str] = {
    "found = 0  ->  found = 1": "one byte in an estimate of the stack that leaves some fifty to spare",
    "return estimate_kernel_bytes(library) + layers + tables + _BYTES_OF_START  ->  "
    "return estimate_kernel_bytes(library) + layers - tables + _BYTES_OF_START": (
        "some tens of bytes in an estimate of thousands that holds to a fifth"
    ),
}
