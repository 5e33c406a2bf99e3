"""States saved and restored over the line: whole, or reset; the wrong ones are refused and change nothing."""

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_faults import HELLO_BYTES, HURRIED, ONCE, REPAIRABLE, RUNNING_SUM, WIDTH, bytes_sent, through
from test_sequence import refusal

from aot.errors import InputError
from platforms.rpc import messages
from platforms.rpc.failures import DeviceResetError, MalformedReplyError, SessionLostError
from platforms.rpc.messages import RemoteModel
from platforms.rpc.protocol import Message, StateRequest, Status
from platforms.rpc.session import Session
from platforms.saved_states import HEADER_BYTES, require_fitting, with_header

pytestmark = pytest.mark.cc

PLUS_ONE, MOODY, NO_MODEL = 0, 2, 6
OPERATION = "a state request"


def opened(connect: Callable[..., Any], **options: Any) -> tuple[Session, RemoteModel]:
    session = connect(**options)
    session.hello()
    return session, session.describe()[RUNNING_SUM]


def add(session: Session, model: RemoteModel, number: int) -> int:
    """Adds it to every byte of the sum, and returns one: they are all equal, or the state is in pieces."""
    session.write_input(model, 0, bytes([number]) * WIDTH)
    session.write_input(model, 1, bytes(WIDTH))
    session.run(model)
    (sum_,) = set(session.read_output(model, 0))
    return sum_


def state_request(
    session: Session, action: StateRequest, rest: bytes = b"", model: int = RUNNING_SUM
) -> bytes:
    return session._request(Message.STATE, messages.pack_state(model, action, rest), OPERATION)


def refused_state(session: Session, action: int, rest: bytes = b"", model: int = RUNNING_SUM) -> Status:
    return refusal(session, Message.STATE, struct.pack("<BB", model, action) + rest)


def test_a_run_continues_from_a_saved_state_also_on_another_device(connect):
    session, model = opened(connect)
    assert [add(session, model, 2) for _ in range(3)] == [2, 4, 6]
    saved = session.save_state(model)
    assert saved[HEADER_BYTES:] == bytes([6]) * WIDTH
    assert add(session, model, 1) == 7
    session.restore_state(model, saved)
    assert add(session, model, 1) == 7
    other, model = opened(connect)
    other.restore_state(model, saved)
    assert add(other, model, 1) == 7


def test_the_state_before_the_first_run_and_after_a_reset_is_the_initial_one(connect):
    session, model = opened(connect)
    first = session.save_state(model)
    assert first[HEADER_BYTES:] == bytes(WIDTH)
    add(session, model, 5)
    session.reset()
    assert session.save_state(model) == first


def test_states_that_do_not_belong_are_refused_and_change_nothing(connect):
    session, model = opened(connect)
    add(session, model, 3)
    saved = session.save_state(model)
    wrong = {
        "not a saved state": b"x" + saved[1:],
        "of the model with hash": saved[:8] + b"\0" + saved[9:],
        "of this model with other states": saved[:16] + b"\0" + saved[17:],
        "1,231 bytes, this model's have 1,232": saved[:-1],
        "1,233 bytes, this model's have 1,232": saved + b"\0",
        "do not have the checksum": saved[:-1] + bytes([saved[-1] ^ 1]),
    }
    for what, given in wrong.items():
        with pytest.raises(InputError, match=what):
            session.restore_state(model, given)
        assert session.save_state(model) == saved, what
    assert add(session, model, 1) == 4


def test_the_device_checks_what_a_stranger_restores(connect):
    """Before the bytes of a state nothing changes; after them it is whole, or the next run starts anew."""
    session, model = opened(connect)
    add(session, model, 3)
    saved = session.save_state(model)
    header, body = saved[:HEADER_BYTES], saved[HEADER_BYTES:]
    for number in range(28):
        changed = header[:number] + bytes([header[number] ^ 0x10]) + header[number + 1 :]
        assert refused_state(session, StateRequest.BEGIN, changed) == Status.WRONG_STATE
    for action, rest, status in (
        (StateRequest.WRITE, struct.pack("<I", 0) + b"1", Status.WRITE_GAP),
        (StateRequest.HEAD, b"0", Status.BAD_LENGTH),
        (StateRequest.READ, struct.pack("<IH", 0, 8) + b"0", Status.BAD_LENGTH),
        (StateRequest.READ, struct.pack("<IH", WIDTH, 8), Status.OUT_OF_RANGE),
        (StateRequest.READ, struct.pack("<IH", 0xFFFF_FFFF, 8), Status.OUT_OF_RANGE),
        (StateRequest.BEGIN, header[:-1], Status.BAD_LENGTH),
        (StateRequest.WRITE, b"", Status.BAD_LENGTH),
        (StateRequest.FINISH, b"0", Status.BAD_LENGTH),
        (len(StateRequest), b"", Status.OUT_OF_RANGE),
    ):
        assert refused_state(session, action, rest) == status, (action, rest)
    assert add(session, model, 1) == 4

    def begun(*pieces: tuple[int, bytes]) -> None:
        state_request(session, StateRequest.BEGIN, header)
        for offset, data in pieces:
            state_request(session, StateRequest.WRITE, struct.pack("<I", offset) + data)

    begun((0, body[:400]))
    assert refused_state(session, StateRequest.WRITE, struct.pack("<I", 401) + b"1") == Status.WRITE_GAP
    assert refused_state(session, StateRequest.WRITE, struct.pack("<I", 0) + b"1", 0) == Status.WRITE_GAP
    assert refused_state(session, StateRequest.FINISH) == Status.WRONG_STATE  # cut off
    assert add(session, model, 1) == 1
    begun((0, body[:600]), (600, body[600:-1] + b"x"))
    assert refused_state(session, StateRequest.FINISH) == Status.WRONG_STATE  # its checksum is another
    assert add(session, model, 1) == 1
    begun((0, body[:600]), (600, body[600:]))
    assert refused_state(session, StateRequest.WRITE, struct.pack("<I", WIDTH) + b"1") == Status.OUT_OF_RANGE
    state_request(session, StateRequest.FINISH)
    assert add(session, model, 1) == 4
    begun((0, body[:600]), (300, body[300:900]), (900, body[900:]))  # pieces may come again
    state_request(session, StateRequest.FINISH)
    assert add(session, model, 1) == 4
    assert refused_state(session, StateRequest.FINISH) == Status.WRONG_STATE
    assert add(session, model, 1) == 1


def test_models_without_states_are_told_apart(connect):
    session, model = opened(connect)
    for number, status in ((PLUS_ONE, Status.NO_STATE), (NO_MODEL, Status.NO_SUCH_MODEL)):
        assert refused_state(session, StateRequest.HEAD, model=number) == status
        assert refused_state(session, StateRequest.READ, bytes(6), number) == status
        assert refused_state(session, StateRequest.BEGIN, bytes(32), number) == status
    with pytest.raises(InputError, match="the model plus_one keeps no state between runs"):
        session.save_state(session.describe()[PLUS_ONE])
    add(session, model, 3)
    session.write_input(session.describe()[PLUS_ONE], 0, bytes(4))  # takes the arena
    assert refused_state(session, StateRequest.READ, bytes(6)) == Status.NO_STATE
    assert refused_state(session, StateRequest.READ, bytes(6), NO_MODEL) == Status.NO_SUCH_MODEL


def test_a_session_that_ends_in_the_middle_leaves_a_reset_state(connect):
    session, model = opened(connect)
    add(session, model, 3)
    saved = session.save_state(model)
    for cut in (0, 1, 500, WIDTH):
        add(session, model, 1)
        state_request(session, StateRequest.BEGIN, saved[:HEADER_BYTES])
        for offset in range(0, cut, 1000):
            piece = saved[HEADER_BYTES + offset : HEADER_BYTES + min(cut, offset + 1000)]
            state_request(session, StateRequest.WRITE, struct.pack("<I", offset) + piece)
        session.hello()  # the next program
        assert session.save_state(model)[HEADER_BYTES:] == bytes(WIDTH)
        assert add(session, model, 1) == 1


def test_a_reset_in_the_middle_of_a_restore_is_named_and_leaves_the_initial_state(connect):
    session, model = opened(connect)
    saved = with_header(session.save_state(model)[:28], bytes([1]) * WIDTH)

    def talk(session: Session) -> None:
        session.hello()
        session.restore_state(model, saved)

    end = bytes_sent(connect, talk)
    for at in (HELLO_BYTES + 1, 60, 90, 110, 600, end - 100, end - 1, end):
        session = connect(environment={"RESET_AT_BYTE": str(at)}, deadlines=ONCE, is_awake=True)
        with pytest.raises(DeviceResetError, match='reset during restoring the state of "running_sum"'):
            talk(session)
        assert add(session, model, 1) == 1, at


@pytest.mark.parametrize("name", REPAIRABLE)
def test_a_bad_line_does_not_change_a_state(connect, name):
    session, model = opened(connect, wrap=through(REPAIRABLE[name], seed=3))
    for number in range(4):
        states = np.random.default_rng(number).bytes(WIDTH)
        saved = with_header(session.save_state(model)[:28], states)
        session.restore_state(model, saved)
        assert session.save_state(model) == saved


def test_another_program_in_between_is_named(connect):
    session, model = opened(connect, deadlines=HURRIED)
    session._id ^= 1
    with pytest.raises(SessionLostError, match='saving the state of "running_sum"'):
        session.save_state(model)


@pytest.mark.parametrize(
    "head", [b"", bytes(28), bytes(24) + b"\x20\0\0\0", bytes(24) + b"\xff\xff\xff\xff", bytes(29)]
)
def test_a_device_that_lies_about_its_states_is_named(connect, monkeypatch, head):
    session, model = opened(connect)
    session._memory_bytes = 1 << 20
    monkeypatch.setattr(session, "_request", lambda *_: head)
    with pytest.raises(MalformedReplyError, match='reply to saving the state of "running_sum"'):
        session.save_state(model)


def test_the_checksum_is_that_of_the_generated_c():
    """FNV-1a's published value for these bytes."""
    head = bytes(24) + (HEADER_BYTES + 6).to_bytes(4, "little")
    assert with_header(head, b"foobar")[28:32] == (0xBF9CF968).to_bytes(4, "little")
    require_fitting(with_header(head, b"foobar"), head)
