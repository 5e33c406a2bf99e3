"""The real C server, driven by the real session over a pipe: every message, and every refusal."""

import random
import zlib

import pytest
from error_facts import refused, require_facts

from aot.errors import DeployError, InputError
from aot.ir.tensor_spec import TensorSpec
from aot.ir.types import DType, TensorType
from platforms.rpc.deadlines import Deadlines
from platforms.rpc.failures import DeviceCrashedError, DeviceResetError, RequestRefusedError, SessionLostError
from platforms.rpc.frame import SEQUENCE_MODULUS, Packet, encode_frame
from platforms.rpc.messages import Expected, RemoteModel
from platforms.rpc.protocol import PROTOCOL_VERSION, Capability, Message, Reset, Status
from platforms.rpc.session import Session
from platforms.transport.base import LineClosedError
from platforms.transport.pipe import PipeTransport

pytestmark = pytest.mark.cc

PLUS_ONE, RUNNING_SUM, MOODY, MANY_LAYERS, TOO_LARGE, ECHO = range(6)
SUMMED = TensorType(DType.U8, (10, 120))
FINE, TALKS, FAILS, CRASHES, RESETS, GOES_DEEP = range(6)


def in_the_mood(session: Session, mood: int) -> RemoteModel:
    """The moody model, with its input written."""
    model = session.describe()[MOODY]
    session.write_input(model, 0, bytes([mood]))
    return model


def test_hello_says_who_is_there(connect):
    hello = connect().hello()
    assert (hello.protocol, hello.build_id, hello.boots) == (PROTOCOL_VERSION, "test device 1", 1)
    assert (hello.payload_bytes, hello.arena_bytes, hello.model_count) == (1030, 4800, 6)
    assert hello.capabilities & Capability.PROFILE
    assert hello.fault is None
    assert hello.hashes[0] == bytes(range(1, 9))


def test_describe_tells_models_and_their_tensors(session):
    models = session.describe()
    assert [m.name for m in models[:4]] == ["plus_one", "running_sum", "moody", "many_layers"]
    assert models[RUNNING_SUM] == RemoteModel(
        number=1,
        name="running_sum",
        hash=b"\x09" * 8,
        arena_bytes=4800,
        layer_count=2,
        inputs=(TensorSpec("a", SUMMED), TensorSpec("b", SUMMED)),
        outputs=(TensorSpec("sum", SUMMED),),
    )


def test_a_run_computes_what_the_model_computes(session):
    model = session.describe()[PLUS_ONE]
    session.write_input(model, 0, bytes([0, 1, 126, 255]))
    timing = session.run(model)
    assert session.read_output(model, 0) == bytes([1, 2, 127, 0])
    assert (timing.code, timing.counter_hz, timing.counter_bits, len(timing.ticks)) == (0, 1_000_000, 24, 1)


def test_what_runs_have_counted_is_reported_for_models_that_count(session):
    models = session.describe()
    assert session.observed(models[RUNNING_SUM]) is None
    for runs in range(3):
        counters = session.observed(models[PLUS_ONE])
        assert (len(counters), counters[:2]) == (128, bytes([1, runs]))
        session.write_input(models[PLUS_ONE], 0, bytes(4))
        (ticks,) = session.run(models[PLUS_ONE]).net_ticks
    last = session.observed(models[PLUS_ONE])[-4:]
    assert int.from_bytes(last, "little") == ticks


def test_state_carries_over_until_it_is_reset(session):
    model = session.describe()[RUNNING_SUM]
    sums = []
    for turn in range(3):
        if turn == 2:
            session.reset(Reset.STATE)
        session.write_input(model, 1, bytes([2]) * 1200)
        session.write_input(model, 0, bytes([1]) * 1200)
        session.run(model)
        sums.append(session.read_output(model, 0)[1100])
    assert sums == [3, 6, 3]


def test_inputs_are_spent_by_a_run(session):
    model = session.describe()[PLUS_ONE]
    session.write_input(model, 0, b"\0" * 4)
    session.run(model)
    with pytest.raises(RequestRefusedError) as caught:
        session.run(model)
    assert caught.value.status == Status.INPUT_MISSING


def test_one_written_input_of_two_is_not_enough(session):
    model = session.describe()[RUNNING_SUM]
    session.write_input(model, 0, b"\0" * 1200)
    with pytest.raises(RequestRefusedError, match="not written completely"):
        session.run(model)


def test_outputs_are_gone_when_another_model_takes_the_arena(session):
    plus_one, _, moody, *_ = session.describe()
    session.write_input(plus_one, 0, b"\0" * 4)
    session.run(plus_one)
    session.write_input(moody, 0, b"\0")
    with pytest.raises(RequestRefusedError) as caught:
        session.read_output(plus_one, 0)
    assert caught.value.status == Status.NO_RESULT


def test_outputs_are_gone_when_the_next_input_is_written(session):
    model = session.describe()[PLUS_ONE]
    session.write_input(model, 0, b"\0" * 4)
    session.run(model)
    session.write_input(model, 0, b"\0" * 4)
    with pytest.raises(RequestRefusedError, match="no finished run's outputs"):
        session.read_output(model, 0)


def test_time_gives_every_repeat_and_the_cost_of_measuring(session):
    model = session.describe()[PLUS_ONE]
    timing = session.time(model, number=3, repeat=70)
    assert len(timing.ticks) == 70
    assert timing.net_ticks == tuple(t - timing.empty_ticks for t in timing.ticks)
    with pytest.raises(RequestRefusedError):  # the runs had no inputs, so there is no result
        session.read_output(model, 0)


def test_profile_hashes_each_layers_rows_in_order(session):
    model = session.describe()[RUNNING_SUM]
    a, b = random.Random(1).randbytes(1200), random.Random(2).randbytes(1200)
    expected = zlib.crc32(bytes((x + y) % 256 for x, y in zip(a, b, strict=True)))
    assert [layer.crc32 for layer in session.profile(model, [a, b])] == [expected, expected]


def test_profile_of_more_layers_than_a_reply_holds_runs_again_for_the_rest(session):
    layers = session.profile(session.describe()[MANY_LAYERS], [b"\0"])
    assert [layer.crc32 for layer in layers] == [zlib.crc32(bytes([i])) for i in range(75)]


def test_log_lines_come_in_band(connect):
    lines: list[str] = []
    session = connect(on_log=lines.append)
    session.hello()
    session.run(in_the_mood(session, TALKS))
    assert lines == ["feeling fine"]


def test_a_failing_model_gives_its_own_code(session):
    with pytest.raises(RequestRefusedError, match="returned an error") as caught:
        session.run(in_the_mood(session, FAILS))
    assert caught.value.where == "device: MODEL_FAILED -42"


def test_a_crash_comes_back_with_its_registers_and_the_device_is_usable_after(session):
    refused(
        lambda: session.run(in_the_mood(session, CRASHES)),
        '"moody" 0x00001234 device crashed during 0x00005678 0x2000ff00 0x00000000 0x00000100 '
        "0xdeadbeef address addr2line firmware.elf function",
        DeviceCrashedError,
    )
    assert session.run(in_the_mood(session, FINE)).code == 0


def test_a_fault_of_an_earlier_boot_is_not_blamed_for_a_later_reset(session):
    with pytest.raises(DeviceCrashedError):
        session.run(in_the_mood(session, CRASHES))
    with pytest.raises(DeviceResetError) as caught:
        session.run(in_the_mood(session, RESETS))
    assert type(caught.value) is DeviceResetError
    require_facts(caught.value, '"moody" device reset during "test 1" 3 build brown-out possible causes')


def test_a_reset_on_request_ends_the_session_and_the_next_hello_begins_one(connect):
    session = connect()
    nonce = session.hello().boot_nonce
    session.reset(Reset.DEVICE)
    hello = session.hello()
    assert hello.boots == 2
    assert hello.boot_nonce != nonce


def test_a_second_session_takes_the_device_over_and_the_first_is_told(device):
    line = PipeTransport([str(device)], environment={})
    first, second = Session(line), Session(line)
    try:
        first.hello()
        second.hello()
        with pytest.raises(
            SessionLostError, match="another program opened a session with the device during describe"
        ):
            first.describe()
    finally:
        first.close()


def test_what_an_interrupted_session_left_on_the_line_does_not_confuse_the_next(device):
    line = PipeTransport([str(device)], environment={})
    session = Session(line)
    try:
        session.hello()
        model = session.describe()[PLUS_ONE]
        session.write_input(model, 0, b"\1\2\3\4")
        line.write(encode_frame(Packet(Message.RUN, 900, 77).pack())[:-3], 10)
        second = Session(line)
        second.hello()
        second.write_input(model, 0, b"\5\6\7\x08")
        second.run(model)
        assert second.read_output(model, 0) == b"\6\7\x08\x09"
    finally:
        session.close()


def test_a_model_larger_than_the_arena_is_refused(session):
    with pytest.raises(RequestRefusedError) as caught:
        session.time(session.describe()[TOO_LARGE], 1, 1)
    assert caught.value.status == Status.ARENA_TOO_SMALL


def test_an_input_of_the_wrong_size_is_refused_before_anything_is_sent(session):
    with pytest.raises(InputError, match='input "x" needs 4 bytes, not 5'):
        session.write_input(session.describe()[PLUS_ONE], 0, b"12345")


def test_another_model_on_the_board_is_named(session):
    assert session.find_model(Expected("sum", b"\x09" * 32)).name == "running_sum"
    refused(
        lambda: session.find_model(Expected("kws", b"\xab" * 32, "kws-0123")),
        'firmware hold model device 2 "test 1" "plus_one" 0102030405060708 "running_sum" '
        '0909090909090909 "moody" 0707070707070707 "many_layers" 0606060606060606 "too_large" '
        '0505050505050505 "echo" 0404040404040404 board protocol "kws-0123" "kws" expected build '
        "flash",
    )


def test_another_build_of_the_model_on_the_board_is_named(session):
    with pytest.raises(DeployError) as caught:
        session.find_model(Expected("plus_one", bytes(range(1, 33)), "plus_one-0123"))
    text = str(caught.value)
    assert text.startswith("error: firmware holds another build of the model plus_one\n")
    assert '  on the board: protocol 2, build "test device 1", models "plus_one" 0102' in text
    assert '  expected: protocol 2, build "plus_one-0123", model "plus_one" 0102030405060708\n' in text


def test_kilobytes_go_there_and_back_in_pieces(session):
    model = session.describe()[ECHO]
    page = random.Random(5).randbytes(4096)
    session.write_input(model, 0, page)
    session.run(model)
    assert session.read_output(model, 0) == page


@pytest.mark.slow
def test_sequence_numbers_may_wrap(session):
    for _ in range(SEQUENCE_MODULUS + 10):
        session.stats()


def test_end_of_input_ends_the_device_cleanly(device):
    line = PipeTransport([str(device)], environment={})
    session = Session(line)
    session.hello()
    session.close()
    assert line.exit_status == 0


def test_a_device_that_dies_says_how(tmp_path):
    line = PipeTransport(["sh", "-c", "head -c 5 > /dev/null; kill -SEGV $$"])
    with pytest.raises(LineClosedError, match="sh ended: signal SIGSEGV"):
        Session(line, Deadlines(hello_s=10)).hello()
    line.close()
