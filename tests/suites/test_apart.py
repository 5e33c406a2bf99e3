"""A crash within a call is an exception here, and the next call has a process again."""

from __future__ import annotations

import math
import os

import pytest
from apart import Apart, CrashedError


def test_what_is_called_gives_its_result_or_its_error() -> None:
    with Apart() as apart:
        assert apart.call(math.sqrt, 4.0) == 2.0
        with pytest.raises(ValueError, match="math domain error"):
            apart.call(math.sqrt, -1.0)


def test_a_crash_is_reported_and_ends_nothing() -> None:
    with Apart() as apart:
        with pytest.raises(CrashedError, match="abort has crashed"):
            apart.call(os.abort)
        assert apart.call(os.getpid) != os.getpid()
