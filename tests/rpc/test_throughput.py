"""How much of a serial line's rate is left for data, counted in bytes rather than measured in time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.line import LEAST_SHARE, CountingTransport, write_share
from platforms.transport.base import Transport

pytestmark = pytest.mark.cc


def test_writes_of_four_kilobytes_use_85_percent_of_the_line(connect: Callable[..., Any]) -> Any:
    lines: list[CountingTransport] = []

    def counted(line: Transport) -> Transport:
        lines.append(CountingTransport(line))
        return lines[0]

    assert LEAST_SHARE == 0.85
    session = connect(wrap=counted)
    assert write_share(session, lines[0]) >= LEAST_SHARE
