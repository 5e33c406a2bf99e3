"""A line with a key: who does not have it gets no answer, and no time to guess."""

import time
from pathlib import Path
from typing import cast

import pytest
from error_facts import refused

from aot.errors import InputError
from platforms.rpc.failures import LineKeyError, RequestRefusedError
from platforms.rpc.line_key import answer_to, read_line_key
from platforms.rpc.messages import Hello
from platforms.rpc.protocol import CHALLENGE_BYTES, KEY_BYTES, REQUEST_LIMIT, Capability, Message, Status
from platforms.rpc.session import Session
from platforms.transport.pipe import PipeTransport

pytestmark = pytest.mark.cc
KEY = bytes(range(KEY_BYTES))
DEVICE = Path(__file__).parent / "device"
FLAGS = ("-DSOLDER_RATE", "-DSOLDER_FUNCTIONS", "-DSOLDER_LOCK")
TIMES_FASTER = 20  # the device's counter, so that these tests do not wait
PLUS_ONE = 0
OPEN_TO_ALL = (Message.HELLO, Message.CHALLENGE, Message.UNLOCK)


@pytest.fixture(scope="module")
def locked_device(compile_c):
    sources = [DEVICE / name for name in ("port.c", "models.c", "functions.c", "line_key.c")]
    return compile_c("locked", sources, *FLAGS, f"-DTIMES_FASTER={TIMES_FASTER}u")


@pytest.fixture
def speak(locked_device):
    """speak(key): a new device, and a session that has that key."""
    sessions: list[Session] = []

    def open_session(key: bytes = KEY) -> Session:
        sessions.append(Session(PipeTransport([str(locked_device)]), line_key=key))
        return sessions[-1]

    yield open_session
    for session in sessions:
        session.close()


class _Stranger(Session):
    """Greets and does not unlock."""

    def _unlock(self, locked: Hello) -> Hello:
        return locked

    def ask(self, message: int, payload: bytes = b"") -> bytes:
        return self._request(cast(Message, message), payload, "a stranger's request")

    def refusal(self, message: int, payload: bytes = b"") -> Status:
        with pytest.raises(RequestRefusedError) as caught:
            self.ask(message, payload)
        return Status(caught.value.status)


@pytest.fixture
def stranger(locked_device):
    session = _Stranger(PipeTransport([str(locked_device)]))
    session.hello()
    yield session
    session.close()


def test_who_has_the_key_has_the_device(speak):
    session = speak()
    hello = session.hello()
    assert hello.model_count > 1
    assert hello.is_locked
    model = session.describe()[PLUS_ONE]
    session.write_input(model, 0, bytes([1, 2, 3, 4]))
    session.run(model)
    assert session.read_output(model, 0) == bytes([2, 3, 4, 5])
    assert session.raise_rate() >= 0


def test_nothing_is_answered_before_the_key_was_shown(stranger):
    for message in range(REQUEST_LIMIT):
        if message not in OPEN_TO_ALL:
            for payload in (b"", bytes(4), bytes(64)):
                assert stranger.refusal(message, payload) == Status.LOCKED, message


def test_a_locked_device_tells_nothing_of_models_and_faults(stranger):
    hello = stranger.hello()
    assert hello.build_id
    assert (hello.boots, hello.arena_bytes, hello.fault, hello.model_count, hello.hashes) == (
        0,
        0,
        None,
        0,
        (),
    )
    assert hello.capabilities == Capability.LOCKED


def test_an_answer_serves_once(stranger):
    answer = answer_to(stranger.ask(Message.CHALLENGE), KEY)
    stranger.ask(Message.UNLOCK, answer)
    stranger.hello()
    assert stranger.refusal(Message.UNLOCK, answer) == Status.WRONG_KEY  # nothing was asked
    stranger.ask(Message.CHALLENGE)
    assert stranger.refusal(Message.UNLOCK, answer) == Status.WRONG_KEY
    assert stranger.refusal(Message.STATS) == Status.LOCKED


def test_no_two_challenges_are_alike(stranger):
    challenges = [stranger.ask(Message.CHALLENGE) for _ in range(20)]
    assert len(set(challenges)) == 20
    assert {len(each) for each in challenges} == {CHALLENGE_BYTES}
    assert len({each[:4] for each in challenges}) == 20


def test_a_device_without_random_numbers_stays_locked(locked_device, monkeypatch):
    monkeypatch.setenv("NO_ENTROPY", "1")
    session = _Stranger(PipeTransport([str(locked_device)]))
    try:
        session.hello()
        assert session.refusal(Message.CHALLENGE) == Status.NO_ENTROPY
        assert session.refusal(Message.UNLOCK, answer_to(bytes(16), KEY)) == Status.WRONG_KEY
        assert session.refusal(Message.STATS) == Status.LOCKED
    finally:
        session.close()


@pytest.mark.parametrize("flipped", [0, 7, 128, 255])
def test_an_answer_with_one_wrong_bit_is_refused(stranger, flipped):
    answer = bytearray(answer_to(stranger.ask(Message.CHALLENGE), KEY))
    answer[flipped // 8] ^= 1 << flipped % 8
    assert stranger.refusal(Message.UNLOCK, bytes(answer)) == Status.WRONG_KEY
    assert stranger.refusal(Message.STATS) == Status.LOCKED


def test_a_wrong_answer_takes_a_second(stranger):
    stranger.ask(Message.CHALLENGE)
    began = time.monotonic()
    assert stranger.refusal(Message.UNLOCK, bytes(KEY_BYTES)) == Status.WRONG_KEY
    assert time.monotonic() - began >= 1.0 / TIMES_FASTER


def test_a_hello_locks_the_line_again(stranger):
    stranger.ask(Message.UNLOCK, answer_to(stranger.ask(Message.CHALLENGE), KEY))
    stranger.ask(Message.STATS)
    stranger.hello()
    assert stranger.refusal(Message.STATS) == Status.LOCKED


def test_frames_of_an_open_session_need_no_key(stranger):
    stranger.ask(Message.UNLOCK, answer_to(stranger.ask(Message.CHALLENGE), KEY))
    assert stranger.ask(Message.STATS)


def test_a_key_of_another_length_is_refused(stranger):
    assert stranger.refusal(Message.UNLOCK, bytes(KEY_BYTES - 1)) == Status.BAD_LENGTH


def test_another_key_is_reported_with_the_way_out(speak):
    session = speak(bytes(KEY_BYTES))
    with pytest.raises(RequestRefusedError) as caught:
        session.hello()
    assert "the firmware was made with another line key" in str(caught.value)
    assert "--line-key FILE: the one that deploy new was given" in str(caught.value)


def test_no_key_is_reported_with_the_way_out(speak):
    session = speak(b"")
    with pytest.raises(LineKeyError) as caught:
        session.hello()
    assert "the line is locked and needs a key" in str(caught.value)
    assert "use --line-key FILE, with the key that the firmware was created with" in str(caught.value)


def test_a_key_is_not_wasted_on_who_does_not_ask(device):
    """Else a stranger's board in place of the right one would be spoken with."""
    session = Session(PipeTransport([str(device)]), line_key=KEY)
    try:
        with pytest.raises(LineKeyError, match="--line-key was given, but the firmware needs no key"):
            session.hello()
    finally:
        session.close()


def test_a_key_is_32_bytes_or_their_digits(tmp_path):
    path = tmp_path / "line.key"
    path.write_bytes(KEY)
    assert read_line_key(path) == KEY
    path.write_text(KEY.hex() + "\n")
    assert read_line_key(path) == KEY


@pytest.mark.parametrize("content", [b"", b"secret\n", bytes(31), b"0" * 63, b"g" * 64])
def test_what_is_not_a_key_is_refused(tmp_path, content):
    path = tmp_path / "line.key"
    path.write_bytes(content)
    refused(
        lambda: read_line_key(path),
        f"32 64 {len(content)} line must bytes {path} line.key create openssl",
        InputError,
    )


def test_a_key_that_is_not_there_is_reported(tmp_path):
    with pytest.raises(InputError, match="the line key cannot be read: No such file"):
        read_line_key(tmp_path / "none.key")


def test_a_device_that_counts_the_challenge_short_is_reported(speak):
    session = speak()
    asked = session._request

    def cut(message: Message, payload: bytes, operation: str, runs: int = 1) -> bytes:
        reply: bytes = asked(message, payload, operation, runs)
        return reply[:8] if message == Message.CHALLENGE else reply

    session._request = cut
    with pytest.raises(Exception, match="16 bytes expected, 8 came"):
        session.hello()
