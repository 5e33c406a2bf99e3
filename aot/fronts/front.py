"""A front end, in the words of no library: of sound by its spectrum, of a picture, or of movements."""

from __future__ import annotations

from typing import TypeAlias

from aot.fronts.integer_features import IntegerFeatures
from aot.fronts.movement import Movement
from aot.fronts.picture import Picture
from aot.fronts.spectrum import Spectrum

Front: TypeAlias = Spectrum | IntegerFeatures | Picture | Movement
