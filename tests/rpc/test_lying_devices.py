"""A device is not trusted: announcements are limited, texts escaped, damaged replies asked for again."""

import struct
from collections.abc import Callable
from dataclasses import replace

import pytest
from error_facts import require_facts
from fake_line import FakeTransport
from test_failure_texts import DEADLINES, NONCE, TOKEN, greeted, hello_payload, reply_to, text_of

from aot.ir.tensor_spec import TensorSpec
from aot.ir.types import DType, TensorType
from aot.wording import harmless
from deploy.cli.console import print_error, print_result
from platforms.rpc.exchange import LOG_BYTES, QUIET_S
from platforms.rpc.failures import DeviceSilentError
from platforms.rpc.frame import Decoder, Packet, encode_frame
from platforms.rpc.function_type import DeviceArrayType
from platforms.rpc.messages import RemoteModel
from platforms.rpc.messages import text_of as safe_text
from platforms.rpc.protocol import PROTOCOL_VERSION, Capability, DescribedTensors, Message, Notice, Status
from platforms.rpc.session import Session

ROW = TensorSpec("row", TensorType(DType.I8, (40,)))
MODEL = RemoteModel(0, "m", b"\1" * 8, 100, 1, (ROW,), (ROW,))
RAM_BYTES = 10_000
MALFORMED_HINT = "\n  fake line\n  hint: build and flash the firmware again with this version of deploy"
CLIPBOARD = "\x1b]52;c;cm0gLXJmIH4=\x07\x9b31m"


class Rambling(FakeTransport):
    """Says the same again at each read, and a read takes a second."""

    def __init__(self, answer: Callable[[bytes], bytes]) -> None:
        super().__init__(answer)
        self.says: Callable[[], bytes] = lambda: b""

    def read(self, max_bytes: int, deadline_s: float) -> bytes:
        self.say(self.says())
        self.now_s += 1.0
        return super().read(max_bytes, deadline_s)


def session_with(
    answer: Callable[[Packet], list[Packet]], logged: list[str] | None = None
) -> tuple[Session, Rambling]:
    decoder = Decoder()

    def frames(data: bytes) -> bytes:
        requests = [Packet.unpack(item) for item in decoder.feed(data) if isinstance(item, bytes)]
        return b"".join(encode_frame(packet.pack()) for request in requests for packet in answer(request))

    line = Rambling(frames)
    log = [] if logged is None else logged
    session = Session(
        line, DEADLINES, line.clock, log.append, new_token=lambda: TOKEN, memory_bytes=RAM_BYTES
    )
    return session, line


def rambling(notice: int, payload: bytes, runs: int) -> tuple[Session, Rambling, list[str]]:
    """A device that after its greeting says this notice for ever, of the request under way."""
    asked: list[Packet] = []
    logged: list[str] = []

    def answer(request: Packet) -> list[Packet]:
        asked.append(request)
        return greeted(request)

    session, line = session_with(answer, logged)
    session.hello()
    line.says = lambda: encode_frame(Packet(notice, asked[-1].sequence, asked[-1].session, payload).pack())
    return session, line, logged


@pytest.mark.parametrize("repeat", [1, 3])
def test_a_device_that_says_for_ever_that_it_computes_is_given_up(repeat):
    session, line, _ = rambling(Notice.WORKING, b"", repeat)
    before_s = line.now_s
    require_facts(
        text_of(lambda: session.time(MODEL, 1, repeat)).splitlines()[0], '120 "m" device answer within'
    )
    # All runs begin in the first seconds here, and the last of them has its whole time.
    assert line.now_s - before_s < DEADLINES.run_s + repeat + 3


def test_an_endless_log_is_cut_and_ends_with_the_request():
    session, line, logged = rambling(Notice.LOG, b"again", 1)
    line.says = lambda: encode_frame(Packet(Notice.LOG, 0, 0, b"again").pack()) * 100
    assert text_of(session.stats).splitlines()[0] == "error: device did not answer within 5 s (stats)"
    assert logged[:200] == ["again"] * 200
    assert logged[200:] == ["(more than 200 lines during stats: the rest is omitted)"]


def test_logs_of_a_whole_session_are_cut_by_their_bytes():
    """A line may be as long as a frame, and each request may have 200 of them."""
    session, line, logged = rambling(Notice.LOG, b"\0" * 4000, 1)
    frame = encode_frame(Packet(Notice.LOG, 0, 0, b"\0" * 4000).pack())
    line.says = lambda: frame * 30
    for _ in range(5):
        with pytest.raises(DeviceSilentError):
            session.stats()
    assert sum(map(len, logged)) < 2 * LOG_BYTES
    assert logged[-1] == "(more than 65,536 bytes in this session: the rest is omitted)"
    assert logged.count(logged[-1]) == 1


def test_a_text_is_cut_and_says_how_long_it_was():
    assert safe_text(b"a" * 1024) == "a" * 1024
    assert safe_text(b"a" * 4000) == "a" * 1024 + " (4,000 bytes)"


def describing(answers: dict[int, bytes]) -> Session:
    """A device whose descriptions are these, by what is asked for."""
    session, _ = session_with(
        lambda request: greeted(request) or [reply_to(request, answers[DescribedTensors(request.payload[1])])]
    )
    session.hello()
    return session


def tensor(number: int, shape: tuple[int, ...], size: int, name: bytes = b"t") -> bytes:
    return struct.pack(f"<BBII{len(shape)}I", number, len(shape), 0, size, *shape) + name


def head(inputs: int, outputs: int, name: bytes = b"m") -> bytes:
    return b"\1" * 8 + struct.pack("<IHHH", 100, inputs, outputs, 1) + name


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        (
            {
                DescribedTensors.MODEL: head(1, 0),
                DescribedTensors.INPUT: tensor(1, (0xFFFF_FFFF,), 0xFFFF_FFFF),
            },
            '"t", 4,294,967,295 bytes announced, 10,000 of RAM on the board',
        ),
        (
            {DescribedTensors.MODEL: head(0, 1), DescribedTensors.OUTPUT: tensor(1, (2501, 4), 10_004)},
            '"t", 10,004 bytes announced, 10,000 of RAM on the board',
        ),
        (
            {DescribedTensors.MODEL: head(1, 0), DescribedTensors.INPUT: tensor(77, (4,), 4)},
            "77 is not the number of an element type",
        ),
        ({DescribedTensors.MODEL: head(257, 0)}, "at most 256 inputs expected, 257 are announced"),
        ({DescribedTensors.MODEL: head(0, 60_000)}, "at most 256 outputs expected, 60000 are announced"),
    ],
)
def test_a_description_of_what_cannot_be_is_refused(answers, reason):
    require_facts(
        text_of(describing(answers).describe), f"device's {reason}{MALFORMED_HINT} reply describe unexpected"
    )


def test_more_models_than_have_numbers_are_refused():
    payload = hello_payload()[: -2 - 8] + struct.pack("<H", 300) + b"\1" * 64
    session, _ = session_with(lambda request: [reply_to(request, payload)])
    require_facts(
        text_of(session.hello), f"device's 256 300 announced{MALFORMED_HINT} reply hello unexpected"
    )


def timing(hz: int, bits: int, *ticks: int) -> bytes:
    return struct.pack(f"<iIBQ{len(ticks)}Q", 0, hz, bits, 0, *ticks)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (timing(1000, 32), "1 times expected, 0 came"),
        (timing(1000, 32, 1, 2), "1 times expected, 2 came"),
        (timing(0, 32, 1), "a counter of 32 bits at 0 Hz measures nothing"),
        (timing(1000, 0, 1), "a counter of 0 bits at 1000 Hz measures nothing"),
        (timing(1000, 65, 1), "a counter of 65 bits at 1000 Hz measures nothing"),
    ],
)
def test_a_measurement_that_measures_nothing_is_refused(reply, reason):
    session, _ = session_with(lambda request: greeted(request) or [reply_to(request, reply)])
    session.hello()
    require_facts(
        text_of(lambda: session.run(MODEL)), f"device's {reason}{MALFORMED_HINT} reply unexpected format"
    )


def test_a_piece_of_another_size_than_was_asked_for_is_refused():
    session, _ = session_with(lambda request: greeted(request) or [reply_to(request, b"x" * 41)])
    session.hello()
    require_facts(
        text_of(lambda: session.read_output(MODEL, 0)),
        f'device\'s "row" 40 41 came{MALFORMED_HINT} reply read unexpected',
    )


def test_names_and_builds_and_logs_are_shown_without_commands_to_the_terminal():
    said = CLIPBOARD.encode()
    hello = (
        struct.pack("<HB", PROTOCOL_VERSION, len(said))
        + said
        + struct.pack("<IIHHI", NONCE, 1, 1030, 0, 100)
        + struct.pack("<9IH", *(0,) * 9, 1)
        + b"\1" * 8
    )
    answers = {
        DescribedTensors.MODEL: head(1, 0, said),
        DescribedTensors.INPUT: tensor(1, (4,), 4, said),
    }
    logged: list[str] = []

    def answer(request: Packet) -> list[Packet]:
        if request.kind == Message.HELLO:
            return [Packet(Notice.LOG, 0, 0, said), reply_to(request, hello)]
        return [reply_to(request, answers[DescribedTensors(request.payload[1])])]

    session, _ = session_with(answer, logged)
    shown = r"\x1b]52;c;cm0gLXJmIH4=\x07\x9b31m"
    assert session.hello().build_id == shown
    (model,) = session.describe()
    assert (model.name, model.inputs[0].name, logged) == (shown, shown, [shown])


def test_on_a_terminal_a_monitored_program_gives_no_commands():
    assert harmless("größe\t1\r\n\x1b[2J\x9b31m") == "größe\t1\r\n\\x1b[2J\\x9b31m"


def test_results_and_errors_give_a_terminal_no_commands(capsys):
    """Names come from files of others, too."""
    print_result(False, {}, "kws \x1b[2J\nnext\tcell")
    print_error("error: \x9b31m")
    out, err = capsys.readouterr()
    assert (out, err) == ("kws \\x1b[2J\nnext\tcell\n", "error: \\x9b31m\n")


def with_functions(texts: list[bytes], result: bytes = b"") -> Session:
    """A device whose table of functions reads so, and whose calls answer that."""

    def answer(request: Packet) -> list[Packet]:
        if request.kind == Message.FUNCTION:
            (number,) = struct.unpack("<H", request.payload)
            if number >= len(texts):
                return [replace(reply_to(request, b""), status=Status.NO_SUCH_FUNCTION)]
            return [reply_to(request, texts[number])]
        return [reply_to(request, result)]

    hello = (
        struct.pack("<HB", PROTOCOL_VERSION, 1)
        + b"b"
        + struct.pack("<IIHHI", NONCE, 1, 1030, Capability.FUNCTIONS, 100)
        + struct.pack("<9IH", *(0,) * 9, 0)
    )
    session, _ = session_with(
        lambda request: [reply_to(request, hello)] if request.kind == Message.HELLO else answer(request)
    )
    session.hello()
    return session


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        ([b"blink"], "a name and a signature expected, 'blink' came"),
        ([b"\x1b]52 i32()"], "a name and a signature expected, '\\\\x1b]52 i32()' came"),
        ([b"f i33(i32)"], "f has the unknown type 'i33'"),
        ([b"f i32(i32, u8[)"], "f has a parameter 'u8[', which is not a type"),
        ([b"f i32(i32[-1])"], "f has a parameter 'i32[-1]', which is not a type"),
        ([b"f i32(" + b"i32, " * 8 + b"i32)"], "at most 8 arguments expected, f has 9"),
        ([b"f i32(" + b" " * 600 + b")"], f"a name and a signature expected, {'f i32(' + ' ' * 506!r} came"),
        ([b"f i32()", b"g i32()", b"f u8()"], 'two functions are named "f"'),
        ([b"f%d i32()" % n for n in range(300)], "at most 256 expected, more came"),
    ],
)
def test_a_table_of_functions_that_cannot_be_is_refused(texts, reason):
    require_facts(
        text_of(with_functions(texts).functions),
        f"device's {reason}{MALFORMED_HINT} reply functions unexpected",
    )


@pytest.mark.parametrize("result", [b"", b"\4", b"\4\0\0\0", b"\4\0\0\0\0\0", b"\1\0\0\0\0", b"\0"])
def test_a_result_of_another_type_than_the_functions_is_refused(result):
    session = with_functions([b"f i32()"], result)
    (function,) = session.functions()
    require_facts(
        text_of(lambda: session.invoke(function, ())),
        f"device's i32(void {result!r} came{MALFORMED_HINT} reply call unexpected",
    )


def test_an_array_comes_back_with_as_many_bytes_as_it_has():
    session = with_functions([], b"x" * 41)
    array = DeviceArrayType(DType.I8, 40, 1)
    require_facts(
        text_of(lambda: session.get(array)), f"device's 40 41 came{MALFORMED_HINT} reply array unexpected"
    )


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
def test_a_request_is_repeated_at_once_after_damage(damaged):
    line = greeting_after(damaged)
    assert len(line.written) == damaged + 1
    assert line.now_s == 0


def test_after_fifteen_times_each_repetition_waits_until_the_line_is_quiet():
    line = greeting_after(damaged=40)
    assert len(line.written) == 41
    assert line.now_s == pytest.approx(25 * QUIET_S)
