"""The device's header says the same as the Python table."""

from __future__ import annotations

from platforms.rpc.protocol import FAULT_MEANING, STATUS_MEANING, Fault, Status
from platforms.rpc.protocol_header import header_path, protocol_header


def test_the_committed_header_is_current() -> None:
    stale = "renew it: python -m platforms.rpc.protocol_header"
    assert header_path().read_text() == protocol_header(), stale


def test_every_status_and_fault_has_a_meaning() -> None:
    assert set(STATUS_MEANING) == set(Status)
    assert set(FAULT_MEANING) == set(Fault)


def test_meanings_stand_beside_their_own_numbers() -> None:
    assert "SOLDER_NO_SESSION = 3, /* the device knows no such session" in protocol_header()
    assert "SOLDER_MESSAGE_HELLO = 1,\n" in protocol_header()
