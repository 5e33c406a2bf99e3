"""Changes that survive because nobody could notice them: what is changed (code_changes.py) -> why."""

from __future__ import annotations

from collections.abc import Mapping

REASONS: Mapping[str, str] = {
    "found = 0  ->  found = 1": "one byte in an estimate of the stack that leaves some fifty to spare",
}
