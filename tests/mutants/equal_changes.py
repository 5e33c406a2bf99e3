"""Changes that survive because nobody could notice them: what is changed (code_changes.py) -> why."""

from __future__ import annotations

from collections.abc import Mapping

_NUMBER = "a number that stands for something and is compared with itself alone"
_SIZE = "NumPy takes any negative number for the size that is left"
REASONS: Mapping[str, str] = {
    "NOBODY = 0  ->  NOBODY = 1": _NUMBER,
    "CALLER, NOBODY_YET = -1, -2  ->  CALLER, NOBODY_YET = -1, -3": _NUMBER,
    'things = [("", 1, "nothing", False)]  ->  things = [("", 2, "nothing", False)]': _NUMBER,
    "self.position = 0  ->  self.position = 1": "each step sets the position before anything reads it",
    "def _touch(self, name: str, rows: int = 1) -> None:  ->  "
    "def _touch(self, name: str, rows: int = 2) -> None:": "only none and some rows are told apart",
    "if 2 * step > modulus:  ->  if 2 * step >= modulus:": "of half the modulus the numbers that are wanted "
    "are mirrored onto themselves: the same turns lead into them",
    "return _largest_sum(weights, bias) + most_offset(ENLARGED) <= INT32_MAX  ->  "
    "return _largest_sum(weights, bias) + most_offset(ENLARGED) < INT32_MAX": "the sum is a multiple of 128, "
    "and the greatest number is odd",
    "table[: angles.size] = angles.reshape(-1)  ->  table[: angles.size] = angles.reshape(-2)": _SIZE,
    "return _Part(buffer, element, size, site.constants[position].reshape(-1))  ->  "
    "return _Part(buffer, element, size, site.constants[position].reshape(-2))": _SIZE,
}
