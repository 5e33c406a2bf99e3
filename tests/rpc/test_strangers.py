"""Requests that no host of ours would send: a stranger on the line gets at tensors, and at nothing else."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, cast

import pytest

from platforms.rpc.failures import RequestRefusedError
from platforms.rpc.protocol import Message, Status
from platforms.rpc.session import Session

pytestmark = pytest.mark.cc

PLUS_ONE, RUNNING_SUM, NO_MODEL = 0, 1, 6
NO_MESSAGE = 0x3F
FAR = 0xFFFF_FFFF


def refusal(session: Session, message: int, payload: bytes) -> Status:
    with pytest.raises(RequestRefusedError) as caught:
        session._request(cast(Message, message), payload, "a stranger's request")
    return Status(caught.value.status)


def write(model: int, tensor: int, offset: int, data: bytes) -> bytes:
    return struct.pack("<BBI", model, tensor, offset) + data


def read(model: int, tensor: int, offset: int, count: int) -> bytes:
    return struct.pack("<BBIH", model, tensor, offset, count)


def test_only_bytes_of_inputs_are_written(connect: Callable[..., Any]) -> None:
    session = connect()
    session.hello()
    for payload, status in (
        (write(NO_MODEL, 0, 0, b"1234"), Status.NO_SUCH_MODEL),
        (write(255, 0, 0, b"1234"), Status.NO_SUCH_MODEL),
        (write(PLUS_ONE, 1, 0, b"1234"), Status.NO_SUCH_TENSOR),
        (write(PLUS_ONE, 0, 0, b"12345"), Status.OUT_OF_RANGE),
        (write(PLUS_ONE, 0, 5, b""), Status.OUT_OF_RANGE),
        (write(PLUS_ONE, 0, FAR, b"1234"), Status.OUT_OF_RANGE),
        (write(PLUS_ONE, 0, FAR - 3, bytes(8)), Status.OUT_OF_RANGE),
        (write(PLUS_ONE, 0, 1, b"123"), Status.WRITE_GAP),
        (b"\0\0\0", Status.BAD_LENGTH),
    ):
        assert refusal(session, Message.WRITE, payload) == status, payload
    session._request(Message.WRITE, write(PLUS_ONE, 0, 0, bytes([1, 2, 3, 4])), "write")
    session.run(session.describe()[PLUS_ONE])
    assert session._request(Message.READ, read(PLUS_ONE, 0, 0, 4), "read") == bytes([2, 3, 4, 5])


def test_only_inputs_have_an_address_that_is_told(connect: Callable[..., Any]) -> None:
    session = connect()
    session.hello()
    for payload, status in (
        (bytes([NO_MODEL, 0]), Status.NO_SUCH_MODEL),
        (bytes([PLUS_ONE, 1]), Status.NO_SUCH_TENSOR),
        (bytes([PLUS_ONE]), Status.BAD_LENGTH),
        (bytes([PLUS_ONE, 0, 0]), Status.BAD_LENGTH),
    ):
        assert refusal(session, Message.INPUT_ADDRESS, payload) == status, payload
    assert refusal(session, Message.RUN, bytes([PLUS_ONE])) == Status.INPUT_MISSING


def test_an_input_counts_as_written_once_its_address_is_told(connect: Callable[..., Any]) -> None:
    """The bytes of the piece before stand for those that a debugger writes."""
    session = connect()
    session.hello()
    session._request(Message.WRITE, write(PLUS_ONE, 0, 0, bytes([1, 2, 3])), "write")
    assert refusal(session, Message.RUN, bytes([PLUS_ONE])) == Status.INPUT_MISSING
    assert len(session._request(Message.INPUT_ADDRESS, bytes([PLUS_ONE, 0]), "address")) == 4
    session.run(session.describe()[PLUS_ONE])
    assert session._request(Message.READ, read(PLUS_ONE, 0, 0, 3), "read") == bytes([2, 3, 4])
    assert refusal(session, Message.RUN, bytes([PLUS_ONE])) == Status.INPUT_MISSING


def test_only_outputs_of_a_run_are_read(connect: Callable[..., Any]) -> None:
    session = connect()
    session.hello()
    assert refusal(session, Message.READ, read(PLUS_ONE, 0, 0, 4)) == Status.NO_RESULT
    session._request(Message.WRITE, write(PLUS_ONE, 0, 0, bytes(4)), "write")
    assert refusal(session, Message.READ, read(PLUS_ONE, 0, 0, 4)) == Status.NO_RESULT
    session.run(session.describe()[PLUS_ONE])
    for payload, status in (
        (read(NO_MODEL, 0, 0, 4), Status.NO_SUCH_MODEL),
        (read(RUNNING_SUM, 0, 0, 4), Status.NO_RESULT),
        (read(PLUS_ONE, 1, 0, 4), Status.NO_SUCH_TENSOR),
        (read(PLUS_ONE, 0, 0, 5), Status.OUT_OF_RANGE),
        (read(PLUS_ONE, 0, 4, 1), Status.OUT_OF_RANGE),
        (read(PLUS_ONE, 0, FAR, 2), Status.OUT_OF_RANGE),
    ):
        assert refusal(session, Message.READ, payload) == status, payload
    assert session._request(Message.READ, read(PLUS_ONE, 0, 3, 1), "read") == b"\1"


def test_what_is_not_built_in_is_refused(connect: Callable[..., Any]) -> None:
    """The firmware of these tests has functions, and neither a slot nor cartridges."""
    session = connect()
    session.hello()
    for message in (Message.SLOT, Message.LOAD, Message.FETCH, Message.CHECK, Message.CALL):
        for payload in (b"", bytes(8), bytes(24)):
            assert refusal(session, message, payload) == Status.NO_SLOT
    for message in (Message.CARTRIDGE, Message.CARTRIDGE_PUT, Message.CARTRIDGE_SWAP):
        assert refusal(session, message, bytes(8)) == Status.UNKNOWN_MESSAGE
    assert refusal(session, NO_MESSAGE, b"") == Status.UNKNOWN_MESSAGE


def test_firmware_that_never_crashed_tells_no_address(connect: Callable[..., Any]) -> None:
    """Each of the nine words of the fault record is zero, and the whole answer is of a known length."""
    session = connect()
    hello = session.hello()
    payload = session._request(Message.HELLO, struct.pack("<HI", hello.protocol, 1000), "hello")
    build = hello.build_id.encode()
    facts = 2 + 1 + len(build) + 4 + 4 + 2 + 2 + 4
    assert payload[facts : facts + 36] == bytes(36)
    assert len(payload) == facts + 36 + 2 + 8 * hello.model_count
