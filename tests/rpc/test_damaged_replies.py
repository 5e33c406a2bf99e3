"""A reply that comes damaged is asked for again at once; only endless noise is given pauses."""

from __future__ import annotations

import pytest
from fake_line import FakeTransport
from test_failure_texts import DEADLINES, TOKEN, hello_payload, reply_to

from platforms.rpc.exchange import QUIET_S
from platforms.rpc.frame import Decoder, Packet, encode_frame
from platforms.rpc.session import Session


def greeting_after(damaged: int) -> FakeTransport:
    """The line after a greeting whose first replies came damaged."""
    decoder = Decoder()
    left = damaged

    def answer(data: bytes) -> bytes:
        nonlocal left
        (request,) = decoder.feed(data)
        assert isinstance(request, bytes)
        frame = encode_frame(reply_to(Packet.unpack(request), hello_payload()).pack())
        left -= 1
        return frame if left < 0 else frame[:5] + bytes([frame[5] ^ 0x41]) + frame[6:]

    line = FakeTransport(answer)
    Session(line, DEADLINES, line.clock, new_token=lambda: TOKEN).hello()
    return line


@pytest.mark.parametrize("damaged", [0, 1, 2, 15])
def test_a_request_is_repeated_at_once_after_damage(damaged: int) -> None:
    line = greeting_after(damaged)
    assert len(line.written) == damaged + 1
    assert line.now_s == 0


def test_after_fifteen_times_each_repetition_waits_until_the_line_is_quiet() -> None:
    line = greeting_after(damaged=40)
    assert len(line.written) == 41
    assert line.now_s == pytest.approx(25 * QUIET_S)
