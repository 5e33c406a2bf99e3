"""A conversation with one device: sends requests until they are answered, and detects resets."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from platforms.rpc import failures, messages
from platforms.rpc.deadlines import Deadlines
from platforms.rpc.exchange import ChunkSize, DeviceBooted, Effort, Exchange
from platforms.rpc.frame import SEQUENCE_MODULUS, Packet
from platforms.rpc.line_key import answer_to
from platforms.rpc.messages import Expected, Hello
from platforms.rpc.protocol import (
    CHALLENGE_BYTES,
    PROTOCOL_VERSION,
    WRITE_HEADER_BYTES,
    Message,
    Status,
)
from platforms.transport.base import Clock, Transport

T = TypeVar("T")
DEFAULT_DEADLINES = Deadlines()
ADDRESSABLE_BYTES = 1 << 32
_BRING_DATA = (Message.READ, Message.FETCH, Message.GET)  # requests made in pieces that return data
FASTER = (2_000_000, 1_000_000, 921_600, 460_800, 230_400)


def drop_log(_line: str) -> None:
    """Ignores a line of the device's log."""


def random_token() -> int:
    return secrets.randbits(32)


class Conversation:
    """Communicates with the device over `line`, which it owns. Call hello() first."""

    def __init__(
        self,
        line: Transport,
        deadlines: Deadlines = DEFAULT_DEADLINES,
        clock: Clock = time.monotonic,
        on_log: Callable[[str], None] = drop_log,
        new_token: Callable[[], int] = random_token,
        locate: failures.Locate = failures.nowhere,
        expected: Expected | None = None,
        memory_bytes: int = ADDRESSABLE_BYTES,
        line_key: bytes = b"",
    ) -> None:
        """Initializes the conversation. `memory_bytes` is the board's RAM and limits tensor sizes.

        With a line key, only devices that require one are accepted.
        """
        self._exchange = Exchange(line, deadlines, clock, on_log)
        self._deadlines = deadlines
        self._new_token = new_token
        self._locate = locate
        self._expected = expected
        self._memory_bytes = memory_bytes
        self._line_key = line_key
        self._hello: Hello | None = None
        self._id = 0
        self._sequence = 0
        self._chunk = ChunkSize(0)

    @property
    def line_name(self) -> str:
        return self._exchange.line.name

    def close(self) -> None:
        self._exchange.line.close()

    @property
    def reaches_memory(self) -> bool:
        """True if the line can write memory without the device's server."""
        return self._exchange.line.reaches_memory

    def write_memory(self, address: int, data: bytes) -> None:
        self._exchange.line.write_memory(address, data)

    def hello(self) -> Hello:
        """Starts a session. Pending requests of earlier sessions are dropped."""
        token = self._new_token()
        run_ms = math.ceil(1000 * self._deadlines.device_run_s)
        reply = self._ask_hello(Packet(Message.HELLO, 1, token, messages.pack_hello(run_ms)))
        hello = self._unpacked("hello", messages.unpack_hello, reply.payload)
        if reply.status == Status.WRONG_PROTOCOL or hello.protocol != PROTOCOL_VERSION:
            raise failures.wrong_protocol(self.line_name, hello, self._expected)
        if hello.payload_bytes <= WRITE_HEADER_BYTES:  # otherwise no transfer would finish
            reason = (
                f"requests of more than {WRITE_HEADER_BYTES} bytes expected, the device accepts "
                f"{hello.payload_bytes}"
            )
            raise failures.malformed("hello", self.line_name, reason)
        self._id = token ^ hello.boot_nonce
        self._sequence = 1
        self._hello = hello
        if hello.is_locked or self._line_key:
            hello = self._hello = self._unlock(hello)
        self._exchange.trust_device(hello.keeps_deadline)
        self._chunk = ChunkSize(hello.payload_bytes - WRITE_HEADER_BYTES)
        return hello

    def _unlock(self, locked: Hello) -> Hello:
        """Proves knowledge of the key; the device replies with its introduction."""
        if not (locked.is_locked and self._line_key):
            raise failures.no_key(self.line_name, locked, self._expected)
        challenge = self._request(Message.CHALLENGE, b"", "challenge")
        if len(challenge) != CHALLENGE_BYTES:
            reason = f"{CHALLENGE_BYTES} bytes expected, {len(challenge)} came"
            raise failures.malformed("challenge", self.line_name, reason)
        reply = self._request(Message.UNLOCK, answer_to(challenge, self._line_key), "unlock")
        return self._unpacked("unlock", lambda payload: messages.unpack_introduction(locked, payload), reply)

    def _ask_hello(self, request: Packet) -> Packet:
        effort = self._exchange.begin("hello", self._deadlines.hello_s)
        while True:
            try:
                return self._exchange.ask(request, effort)
            except DeviceBooted:  # it has just started, so the hello may have arrived too early
                continue

    def raise_rate(self, rates: Sequence[int] = FASTER) -> int:
        """Changes to the first rate that both ends support, if any, and returns the rate in use."""
        line = self._exchange.line
        if line.bits_per_second and self._greeted().can_change_rate:
            for rate in rates:
                if rate > line.bits_per_second and self._takes_rate(rate):
                    break
        return line.bits_per_second

    def _takes_rate(self, rate: int) -> bool:
        line = self._exchange.line
        # A successful request ensures that no notice of earlier damage is pending. Such a notice would cause
        # the change to be sent twice, and the second copy would be damage at the new rate.
        self._request(Message.STATS, b"", "stats")
        try:
            self._request(Message.RATE, messages.pack_rate(rate), "change of rate")
        except failures.RequestRefusedError:
            return False
        try:
            if line.set_rate(rate):
                effort = self._exchange.begin("stats", self._deadlines.rate_s)
                self._exchange.ask(self._next(Message.STATS, b""), effort)
                return line.bits_per_second == rate
        except failures.DeviceSilentError:
            pass
        self._exchange.take_first_rate()
        self.hello()  # at the initial rate; after damaged frames the device returns to it, too
        return False

    def _greeted(self) -> Hello:
        assert self._hello is not None, "call hello() first to start a session"
        return self._hello

    def _next(self, message: Message, payload: bytes) -> Packet:
        self._greeted()
        self._sequence = (self._sequence + 1) % SEQUENCE_MODULUS
        return Packet(message, self._sequence, self._id, payload)

    def _request(self, message: Message, payload: bytes, operation: str, runs: int = 1) -> bytes:
        """Returns the reply's payload after the request has completed, which may involve `runs` runs."""
        return self._accepted(self._asked(message, payload, operation, runs), operation)

    def _asked(self, message: Message, payload: bytes, operation: str, runs: int = 1) -> Packet:
        """Returns the reply, which may be a refusal."""
        request = self._next(message, payload)
        effort = self._exchange.begin(operation, self._deadlines.answer_s, runs)
        reply = None
        while reply is None:
            reply = self._attempt(request, effort)
        return reply

    def _in_pieces(
        self,
        message: Message,
        operation: str,
        total: int,
        piece: Callable[[int, int], bytes],
        header_bytes: int = WRITE_HEADER_BYTES,
        may_bring_less: bool = False,
    ) -> bytes:
        """Transfers `total` bytes, in smaller pieces while the line damages larger ones.

        With `may_bring_less`, the request returns data, and each reply may be shorter than asked.
        """
        most = self._greeted().payload_bytes - header_bytes
        brings_data = may_bring_less or message in _BRING_DATA
        received: list[bytes] = []
        offset = 0
        while offset < total or not received:
            count = min(self._chunk.bytes, most, total - offset)
            effort = self._exchange.begin(operation, self._deadlines.answer_s)
            reply = None
            while reply is None:
                # A new size needs a new sequence number, or the device would treat it as a repetition.
                reply = self._attempt(self._next(message, piece(offset, count)), effort)
                if reply is None:
                    self._chunk = self._chunk.after_damage()
                    count = min(self._chunk.bytes, count)
            least, limit = (1 if may_bring_less else count, count) if brings_data else (0, 0)
            received.append(self._piece(reply, operation, least, limit))
            self._chunk = self._chunk.after_success()
            offset += len(received[-1]) if brings_data else count
        return b"".join(received)

    def _piece(self, reply: Packet, operation: str, least: int, most: int) -> bytes:
        """Returns the reply's data.

        Raises if it has fewer or more bytes, so memory stays bounded and transfers end.
        """
        data = self._accepted(reply, operation)
        if not least <= len(data) <= most:
            count = f"{most}" if least == most else f"{least} to {most}"
            raise failures.malformed(operation, self.line_name, f"{count} bytes expected, {len(data)} came")
        return data

    def _attempt(self, request: Packet, effort: Effort) -> Packet | None:
        try:
            return self._exchange.attempt(request, effort)
        except DeviceBooted as booted:
            if booted.boot_nonce == self._greeted().boot_nonce:
                return None  # a delayed notice of an earlier boot
            raise self._after_reset(effort.operation) from None

    def _accepted(self, reply: Packet, operation: str) -> bytes:
        if reply.status == Status.NO_SESSION:
            raise self._after_reset(operation)
        if reply.status != Status.OK:
            detail = ""
            if reply.status in (Status.MODEL_FAILED, Status.CODE_FAILED):
                detail = f" {self._unpacked(operation, messages.unpack_code, reply.payload)}"
            if reply.status in (Status.WRONG_ARGUMENT, Status.FUNCTION_FAILED):
                raise failures.told(operation, self.line_name, reply.status, messages.text_of(reply.payload))
            raise failures.refused(operation, self.line_name, reply.status, detail)
        return reply.payload

    def _after_reset(self, operation: str) -> Exception:
        """Reconnects to the device and returns an error that explains the reset."""
        before = self._greeted()
        try:
            hello = self.hello()
        except failures.DeviceSilentError:
            return failures.reset_and_silent(operation, self.line_name)
        if hello.boot_nonce == before.boot_nonce:
            return failures.session_lost(operation, self.line_name)
        return failures.reset_during(operation, self.line_name, hello, self._locate)

    def _unpacked(self, operation: str, unpack: Callable[[bytes], T], payload: bytes) -> T:
        try:
            return unpack(payload)
        except messages.MalformedPayloadError as error:
            raise failures.malformed(operation, self.line_name, str(error)) from error
