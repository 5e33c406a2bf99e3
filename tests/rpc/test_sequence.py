"""Repeated, late, foreign and hostile requests, asked by hand packet by packet."""

import struct
from pathlib import Path
from typing import cast

import pytest

from platforms.rpc.failures import RequestRefusedError
from platforms.rpc.frame import Decoder, Packet, encode_frame
from platforms.rpc.messages import pack_hello, pack_read, pack_run, pack_write, unpack_hello
from platforms.rpc.protocol import REPLY_BIT, Message, Notice, Status
from platforms.rpc.session import Session
from platforms.transport.pipe import PipeTransport

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


def test_only_bytes_of_inputs_are_written(session):
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


def test_only_inputs_have_an_address_that_is_told(session):
    for payload, status in (
        (bytes([NO_MODEL, 0]), Status.NO_SUCH_MODEL),
        (bytes([PLUS_ONE, 1]), Status.NO_SUCH_TENSOR),
        (bytes([PLUS_ONE]), Status.BAD_LENGTH),
        (bytes([PLUS_ONE, 0, 0]), Status.BAD_LENGTH),
    ):
        assert refusal(session, Message.INPUT_ADDRESS, payload) == status, payload
    assert refusal(session, Message.RUN, bytes([PLUS_ONE])) == Status.INPUT_MISSING


def test_an_input_counts_as_written_once_its_address_is_told(session):
    """The bytes of the piece before stand for those that a debugger writes."""
    session._request(Message.WRITE, write(PLUS_ONE, 0, 0, bytes([1, 2, 3])), "write")
    assert refusal(session, Message.RUN, bytes([PLUS_ONE])) == Status.INPUT_MISSING
    assert len(session._request(Message.INPUT_ADDRESS, bytes([PLUS_ONE, 0]), "address")) == 4
    session.run(session.describe()[PLUS_ONE])
    assert session._request(Message.READ, read(PLUS_ONE, 0, 0, 3), "read") == bytes([2, 3, 4])
    assert refusal(session, Message.RUN, bytes([PLUS_ONE])) == Status.INPUT_MISSING


def test_only_outputs_of_a_run_are_read(session):
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


def test_what_is_not_built_in_is_refused(session):
    """The firmware of these tests has functions, and neither a slot nor cartridges."""
    for message in (Message.SLOT, Message.LOAD, Message.FETCH, Message.CHECK, Message.CALL):
        for payload in (b"", bytes(8), bytes(24)):
            assert refusal(session, message, payload) == Status.NO_SLOT
    for message in (Message.CARTRIDGE, Message.CARTRIDGE_PUT, Message.CARTRIDGE_SWAP):
        assert refusal(session, message, bytes(8)) == Status.UNKNOWN_MESSAGE
    assert refusal(session, NO_MESSAGE, b"") == Status.UNKNOWN_MESSAGE


def test_firmware_that_never_crashed_tells_no_address(connect):
    """Each of the nine words of the fault record is zero, and the whole answer is of a known length."""
    session = connect()
    hello = session.hello()
    payload = session._request(Message.HELLO, struct.pack("<HI", hello.protocol, 1000), "hello")
    build = hello.build_id.encode()
    facts = 2 + 1 + len(build) + 4 + 4 + 2 + 2 + 4
    assert payload[facts : facts + 36] == bytes(36)
    assert len(payload) == facts + 36 + 2 + 8 * hello.model_count


LATE_S = 30.0
TOKEN = 0x77777777


class ByHand:
    """Sends packets and gives what comes back."""

    def __init__(self, device: Path) -> None:
        self.line = PipeTransport([str(device)], environment={})
        self._decoder = Decoder()
        hello = self.send(Packet(Message.HELLO, 1, TOKEN, pack_hello()), replies=2)[
            -1
        ]  # after the boot notice
        self.boot_nonce = unpack_hello(hello.payload).boot_nonce
        self.session = TOKEN ^ self.boot_nonce

    def send(self, packet: Packet, replies: int) -> list[Packet]:
        self.line.write(encode_frame(packet.pack()), LATE_S)
        found: list[Packet] = []
        while len(found) < replies:
            received = self.line.read(4096, LATE_S)
            assert received, "no reply came"
            packets = (item for item in self._decoder.feed(received) if isinstance(item, bytes))
            found += map(Packet.unpack, packets)
        return found

    def ask(self, sequence: int, message: Message, payload: bytes) -> Packet:
        replies = 2 if message == Message.RUN else 1  # a run is announced by a notice
        return self.send(Packet(message, sequence, self.session, payload), replies)[-1]

    def answers_nothing_to(self, packet: Packet, then: Packet) -> bool:
        """Whether only the second packet is answered: the line keeps the order."""
        self.line.write(encode_frame(packet.pack()), LATE_S)
        (reply,) = self.send(then, 1)
        return (reply.kind, reply.sequence) == (then.kind | REPLY_BIT, then.sequence)


@pytest.fixture
def by_hand(device):
    talk = ByHand(device)
    yield talk
    talk.line.close()


def test_a_repeated_request_gets_the_same_reply_and_is_not_carried_out_again(by_hand):
    by_hand.ask(2, Message.WRITE, pack_write(PLUS_ONE, 0, 0, b"\1\2\3\4"))
    first = by_hand.ask(3, Message.RUN, pack_run(PLUS_ONE))
    (again,) = by_hand.send(Packet(Message.RUN, 3, by_hand.session, pack_run(PLUS_ONE)), replies=1)
    assert again == first  # a second run would have had no inputs
    assert by_hand.ask(4, Message.READ, pack_read(PLUS_ONE, 0, 0, 4)).payload == b"\2\3\4\5"


def test_a_late_copy_of_an_older_request_is_dropped(by_hand):
    by_hand.ask(2, Message.WRITE, pack_write(PLUS_ONE, 0, 0, b"\1\2\3\4"))
    by_hand.ask(3, Message.WRITE, pack_write(PLUS_ONE, 0, 0, b"\5\6\7\x08"))
    old = Packet(Message.WRITE, 2, by_hand.session, pack_write(PLUS_ONE, 0, 0, b"\1\2\3\4"))
    run = Packet(Message.STATS, 4, by_hand.session)
    assert by_hand.answers_nothing_to(old, then=run)
    by_hand.ask(5, Message.RUN, pack_run(PLUS_ONE))
    assert by_hand.ask(6, Message.READ, pack_read(PLUS_ONE, 0, 0, 4)).payload == b"\6\7\x08\x09"


def test_a_late_copy_of_the_hello_does_not_begin_the_session_again(by_hand):
    by_hand.ask(2, Message.STATS, b"")
    hello = Packet(Message.HELLO, 1, TOKEN, pack_hello())
    assert by_hand.answers_nothing_to(hello, then=Packet(Message.STATS, 3, by_hand.session))
    assert by_hand.answers_nothing_to(
        Packet(Message.STATS, 2, by_hand.session), then=Packet(Message.STATS, 4, by_hand.session)
    )


def test_a_request_of_another_session_is_refused_with_the_boot_nonce(by_hand):
    (reply,) = by_hand.send(Packet(Message.STATS, 2, by_hand.session ^ 1), replies=1)
    assert reply.status == Status.NO_SESSION
    assert int.from_bytes(reply.payload, "little") == by_hand.boot_nonce


def test_numbers_may_be_skipped(by_hand):
    assert by_hand.ask(1000, Message.STATS, b"").status == Status.OK


def test_a_write_may_go_back_but_not_leave_a_gap(by_hand):
    write = [(0, b"\1\2"), (1, b"\7"), (3, b"\7"), (2, b"\3\4")]
    statuses = [
        by_hand.ask(2 + i, Message.WRITE, pack_write(PLUS_ONE, 0, offset, data)).status
        for i, (offset, data) in enumerate(write)
    ]
    assert statuses == [Status.OK, Status.OK, Status.WRITE_GAP, Status.OK]
    by_hand.ask(10, Message.RUN, pack_run(PLUS_ONE))
    assert by_hand.ask(11, Message.READ, pack_read(PLUS_ONE, 0, 0, 4)).payload == b"\2\x08\4\5"


def test_our_own_words_on_an_echoing_line_are_not_answered(by_hand):
    for kind in (Notice.BOOTED, Notice.DAMAGED, Message.STATS | REPLY_BIT):
        echo = Packet(kind, 9, by_hand.session)
        assert by_hand.answers_nothing_to(echo, then=Packet(Message.STATS, 20 + kind, by_hand.session))


@pytest.mark.parametrize(
    ("message", "payload", "status"),
    [
        pytest.param(Message.RUN, b"", Status.BAD_LENGTH, id="too short"),
        pytest.param(Message.RUN, b"\0\0", Status.BAD_LENGTH, id="too long"),
        pytest.param(0x3F, b"", Status.UNKNOWN_MESSAGE, id="unknown message"),
        pytest.param(Message.DESCRIBE, b"\x09\0\0", Status.NO_SUCH_MODEL, id="no such model"),
        pytest.param(Message.DESCRIBE, b"\0\1\1", Status.NO_SUCH_TENSOR, id="no such input"),
        pytest.param(Message.WRITE, pack_write(0, 1, 0, b""), Status.NO_SUCH_TENSOR, id="write elsewhere"),
        pytest.param(Message.WRITE, pack_write(0, 0, 1, bytes(4)), Status.OUT_OF_RANGE, id="write beyond"),
        pytest.param(Message.WRITE, pack_write(0, 0, 2**32 - 1, bytes(4)), Status.OUT_OF_RANGE, id="wraps"),
        pytest.param(Message.READ, pack_read(0, 0, 0, 4), Status.NO_RESULT, id="read before a run"),
        pytest.param(Message.TIME, b"\0\1\0\x21", Status.OUT_OF_RANGE, id="too many repeats"),
        pytest.param(Message.RESET, b"\7", Status.OUT_OF_RANGE, id="reset of what"),
    ],
)
def test_a_wrong_request_is_refused_by_name(by_hand, message, payload, status):
    (reply,) = by_hand.send(Packet(message, 2, by_hand.session, payload), replies=1)
    assert Status(reply.status) is status
    assert reply.payload == b""
