"""What a person reads when the conversation fails: the whole text, from devices that are scripts."""

import re
import struct
from collections.abc import Callable

import pytest
from fake_line import FakeTransport

from aot.errors import DeployError
from aot.ir.tensor_spec import TensorSpec
from aot.ir.types import DType, TensorType
from platforms.rpc.deadlines import Deadlines
from platforms.rpc.frame import Decoder, Packet, encode_frame
from platforms.rpc.messages import PROFILE_ENTRY, Expected, MalformedPayloadError, RemoteModel, unpack_tensor
from platforms.rpc.protocol import PROTOCOL_VERSION, REPLY_BIT, WRITE_HEADER_BYTES, Message, Notice, Status
from platforms.rpc.session import Session

Reply = Callable[[Packet], list[Packet]]
DEADLINES = Deadlines(hello_s=10, answer_s=5, run_s=120)
NONCE = 0x1234
TOKEN = 0xABCD


def reply_to(request: Packet, payload: bytes = b"", status: int = Status.OK) -> Packet:
    return Packet(request.kind | REPLY_BIT, request.sequence, request.session, payload, status)


def hello_payload(
    nonce: int = NONCE, boots: int = 1, fault: tuple[int, ...] = (0,) * 9, payload_bytes: int = 1030
) -> bytes:
    head = (
        struct.pack("<HB", PROTOCOL_VERSION, 5)
        + b"fake1"
        + struct.pack("<IIHHI", nonce, boots, payload_bytes, 0, 100)
    )
    return head + struct.pack("<9IH", *fault, 1) + b"\1" * 8


def greeted(request: Packet) -> list[Packet]:
    """Answers a hello as a good device does, and nothing else."""
    return [reply_to(request, hello_payload())] if request.kind == Message.HELLO else []


def session_with(answer: Reply, expected: Expected | None = None) -> tuple[Session, FakeTransport]:
    decoder = Decoder()

    def frames(data: bytes) -> bytes:
        requests = [Packet.unpack(item) for item in decoder.feed(data) if isinstance(item, bytes)]
        return b"".join(encode_frame(packet.pack()) for request in requests for packet in answer(request))

    line = FakeTransport(frames)
    return Session(line, DEADLINES, line.clock, new_token=lambda: TOKEN, expected=expected), line


def text_of(talk: Callable[[], object]) -> str:
    with pytest.raises(DeployError) as caught:
        talk()
    return str(caught.value)


def require_failure(talk: Callable[[], object], *facts: str) -> None:
    """Requires an error with these facts: what failed, numbers, and the words of its hint."""
    text = text_of(talk)
    assert not [fact for fact in facts if fact not in text], text


def test_silence():
    session, line = session_with(lambda request: [])
    require_failure(session.hello, "did not answer", "10 s (hello)", "fake line", "powered", "RPC firmware")
    assert line.now_s == pytest.approx(10)


def test_another_firmwares_text():
    session, line = session_with(lambda request: [])
    line.say(b"Hello from Blinky!\r\n")
    require_failure(session.hello, "10 s (hello)", "20 bytes", "b'Hello from Blinky!", "deploy new --app rpc")


def test_noise_as_from_a_wrong_baud_rate():
    session, line = session_with(lambda request: [])
    line.say(b"\xf8\x80\x00\x9c\xff\x00")
    facts = ("2 frames were damaged", "4 bytes", r"b'\xf8\x80\x9c\xff'", "baud rate", "cable")
    require_failure(session.hello, "10 s (hello)", *facts)


def test_an_older_protocol():
    def answer(request: Packet) -> list[Packet]:
        payload = struct.pack("<HB", 7, 9) + b"kws 3fa2b"
        return [reply_to(request, payload, Status.WRONG_PROTOCOL)]

    session, _ = session_with(answer, Expected("kws", b"\xab" * 32, "kws-0123"))
    on_board = ("version 7", 'protocol 7, build "kws 3fa2b"')
    expected = ("speaks 2", 'protocol 2, build "kws-0123", model "kws" abababababababab')
    require_failure(session.hello, *on_board, *expected, "flash the firmware again")


def test_a_hello_that_is_cut():
    session, _ = session_with(lambda request: [reply_to(request, b"\1\0\5fak")])
    require_failure(session.hello, "reply to hello", "5 bytes", "3 are left", "flash the firmware again")


@pytest.mark.parametrize("payload_bytes", [0, WRITE_HEADER_BYTES])
def test_a_device_whose_requests_have_no_room_for_data(payload_bytes):
    session, _ = session_with(lambda request: [reply_to(request, hello_payload(payload_bytes=payload_bytes))])
    facts = (f"more than {WRITE_HEADER_BYTES} bytes", f"the device accepts {payload_bytes}")
    require_failure(session.hello, "reply to hello", *facts)


@pytest.mark.parametrize("count", [0, 3])
def test_a_profile_with_no_layer_or_too_many(count):
    def answer(request: Packet) -> list[Packet]:
        entries = struct.pack("<iIBH", 0, 1000, 32, count) + bytes(PROFILE_ENTRY.size * count)
        return greeted(request) or [reply_to(request, entries if request.kind == Message.PROFILE else b"")]

    session, _ = session_with(answer)
    session.hello()
    model = RemoteModel(0, "kws", bytes(8), arena_bytes=100, layer_count=2)
    facts = ("reply to profile", "1 to 2 layers", f"{count} came", "flash the firmware again")
    require_failure(lambda: session.profile(model, []), *facts)


def test_a_request_the_firmware_does_not_know():
    def answer(request: Packet) -> list[Packet]:
        return greeted(request) or [reply_to(request, b"", Status.UNKNOWN_MESSAGE)]

    session, _ = session_with(answer)
    session.hello()
    require_failure(
        session.stats, "rejected stats", "does not know this request", "fake line: UNKNOWN_MESSAGE"
    )


def test_a_status_this_side_does_not_know():
    def answer(request: Packet) -> list[Packet]:
        return greeted(request) or [reply_to(request, b"", 99)]

    session, _ = session_with(answer)
    session.hello()
    require_failure(session.stats, "rejected stats", "unknown status 99", "flash the firmware again")


def test_a_device_that_falls_silent():
    session, line = session_with(greeted)
    session.hello()
    require_failure(session.stats, "did not answer within 5 s (stats)")
    assert line.now_s == pytest.approx(5)


def test_a_computation_gets_its_own_deadline_and_is_not_hurried():
    asked = []

    def answer(request: Packet) -> list[Packet]:
        asked.append(request)
        working = Packet(Notice.WORKING, request.sequence, request.session)
        return greeted(request) or ([working] if len(asked) == 2 else [])

    session, line = session_with(answer)
    session.hello()
    require_failure(session.stats, "did not answer within 120 s (stats)")
    assert line.now_s == pytest.approx(120)
    assert len(asked) < 70


def test_a_device_that_resets_and_stays_silent():
    answers = []

    def answer(request: Packet) -> list[Packet]:
        answers.append(request)
        if len(answers) == 1:
            return greeted(request)
        return [reply_to(request, b"\0\0\0\0", Status.NO_SESSION)] if request.kind == Message.STATS else []

    session, _ = session_with(answer)
    session.hello()
    require_failure(session.stats, "reset during stats", "not answered since", "reset button")


def crashing(pc: int = 0, lr: int = 0) -> Session:
    """A device whose stack overflows there at each request, and which says so when it has booted again."""
    boots = []

    def answer(request: Packet) -> list[Packet]:
        if request.kind == Message.HELLO:
            boots.append(request)
            fault = (1, 5, pc, lr, 0x20000010, 0, 0x80000, 0, 0)
            return [reply_to(request, hello_payload(NONCE + len(boots), len(boots), fault))]
        return [Packet(Notice.BOOTED, 0, 0, struct.pack("<I", NONCE + 2))]

    session, _ = session_with(answer)
    session.hello()
    return session


def test_a_crash_is_known_from_the_notice_of_the_new_boot():
    session = crashing(pc=0x4D2)
    require_failure(
        session.stats,
        "crashed during stats: stack overflow at pc 0x000004d2",
        "lr 0x00000000 sp 0x20000010 psr 0x00000000 cfsr 0x00080000 hfsr 0x00000000 address 0x00000000",
        "addr2line -f -e firmware.elf 0x000004d2",
    )


def test_a_late_notice_of_the_boot_that_hello_knows_is_not_a_reset():
    def answer(request: Packet) -> list[Packet]:
        late = Packet(Notice.BOOTED, 0, 0, struct.pack("<I", NONCE))
        return greeted(request) or [late, reply_to(request, bytes(12))]

    session, _ = session_with(answer)
    session.hello()
    assert session.stats().stack_bytes == 0


def test_a_reply_of_an_earlier_session_is_not_taken_for_an_answer():
    asked = []

    def answer(request: Packet) -> list[Packet]:
        asked.append(request)
        stale = Packet(request.kind | REPLY_BIT, request.sequence, request.session ^ 1, b"\xff" * 12)
        return greeted(request) or [stale if len(asked) == 2 else reply_to(request, bytes(12))]

    session, _ = session_with(answer)
    session.hello()
    assert session.stats().stack_bytes == 0


@pytest.mark.parametrize(
    ("number", "size", "says"),
    [
        (1, 4, ""),
        (10, 4, "10 is not the number of an element type"),
        (1, 5, "int8[1, 4] has 4 bytes, not 5"),
    ],
)
def test_a_tensor_that_cannot_be_is_refused(number, size, says):
    payload = struct.pack("<BBIIII", number, 2, 0, size, 1, 4) + b"x"
    if not says:
        assert unpack_tensor(payload) == TensorSpec("x", TensorType(DType.I8, (1, 4)))
        return
    with pytest.raises(MalformedPayloadError, match=re.escape(says)):
        unpack_tensor(payload)
