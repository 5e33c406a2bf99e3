"""A front end, independent of any library: for sound (by spectrum), pictures or movements."""

from __future__ import annotations

from typing import TypeAlias

from aot.fronts.integer_features import IntegerFeatures
from aot.fronts.movement import Movement
from aot.fronts.picture import Picture
from aot.fronts.spectrum import Spectrum

Front: TypeAlias = Spectrum | IntegerFeatures | Picture | Movement
