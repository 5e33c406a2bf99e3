"""Sends one request at a time and repeats it until a reply arrives. The line may lose or damage bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from platforms.rpc import failures
from platforms.rpc.deadlines import Deadlines
from platforms.rpc.frame import Damage, Decoder, Packet, encode_frame
from platforms.rpc.messages import text_of
from platforms.rpc.protocol import Notice
from platforms.transport.base import Clock, Transport

# Adapts the request size to the line quality: halved after damage, doubled after success.

SMALLEST_CHUNK = 16  # below this size, frame overhead dominates


@dataclass(frozen=True, slots=True)
class ChunkSize:
    most: int  # limit of the device
    shift: int = 0  # number of halvings

    @property
    def bytes(self) -> int:
        return max(min(SMALLEST_CHUNK, self.most), self.most >> self.shift)

    def after_damage(self) -> ChunkSize:
        return ChunkSize(self.most, self.shift + 1 if self.bytes > SMALLEST_CHUNK else self.shift)

    def after_success(self) -> ChunkSize:
        return ChunkSize(self.most, max(0, self.shift - 1))


READ_BYTES = 4096
LOG_LINES = 200  # device log lines shown per request; a device that sends more is malfunctioning
LOG_BYTES = 65_536  # device log bytes shown per session
GARBAGE_BYTES = 256  # of undecodable input, kept for the error text
PROMPT_RETRIES = 16  # immediate repetitions after damage
QUIET_S = 0.002  # after these, wait until the line is silent for this long
# Tries and seconds at a raised baud rate, before falling back to the initial one.
RATE_TRIES, RATE_S = 3, 1.0
# Deliberately damaged frames. A device at a raised rate falls back after eight, and zeros look the same at
# any rate.
WAKE = b"\0U" * 7
BITS_PER_BYTE = 10  # on a serial line: start bit, eight data bits, stop bit


class DeviceBooted(Exception):  # noqa: N818 - an event on the line; the session decides whether it is an error
    """The device announced a fresh boot with this nonce."""

    def __init__(self, boot_nonce: int) -> None:
        super().__init__(boot_nonce)
        self.boot_nonce = boot_nonce


@dataclass(slots=True)
class Effort:
    """A request in flight: its deadline, retries, and anything received that was not the reply."""

    operation: str
    deadline_s: float
    give_up_at: float
    began_at: float
    retry_s: float
    runs: int = 1  # how many times the device may still report that it computes; each restarts the deadline
    logged: int = 0
    tries: int = 0
    damaged: int = 0
    garbage: bytearray = field(default_factory=bytearray)


@dataclass(slots=True)
class Heard:
    """What the received bytes mean for the pending request."""

    reply: Packet | None = None
    damaged: bool = False
    is_working: bool = False
    boot_nonce: int | None = None  # set if the device has just started


class Exchange:
    """The host side of the request/reply protocol.

    It has no session state: each packet carries its session.
    """

    def __init__(
        self, line: Transport, deadlines: Deadlines, clock: Clock, on_log: Callable[[str], None]
    ) -> None:
        self.line = line
        self.deadlines = deadlines
        self._clock = clock
        self._on_log = on_log
        self._decoder = Decoder()
        self._first_rate = line.bits_per_second
        self._run_s = deadlines.run_s
        self._log_bytes_left = LOG_BYTES

    def trust_device(self, keeps_deadline: bool) -> None:
        """Waits longer if the device enforces a run's time limit, so that it can report the fault."""
        kept = keeps_deadline and self.deadlines.device_run_s > 0
        self._run_s = self.deadlines.kept_run_s if kept else self.deadlines.run_s

    def begin(self, operation: str, deadline_s: float, runs: int = 1) -> Effort:
        """Starts a request; `runs` is the number of times the device reports the start of a computation."""
        now_s = self._clock()
        return Effort(operation, deadline_s, now_s + deadline_s, now_s, self.deadlines.retry_s, runs)

    def ask(self, request: Packet, effort: Effort) -> Packet:
        """Returns the reply. Raises DeviceSilentError on timeout, and DeviceBooted on a restart."""
        while True:
            reply = self.attempt(request, effort)
            if reply is not None:
                self.line.rest()
                return reply

    def attempt(self, request: Packet, effort: Effort) -> Packet | None:
        """Sends the request until the reply arrives. Returns None at the first damaged frame."""
        frame = encode_frame(request.pack())
        is_silent = False  # True if nothing arrives; a device at the same rate answers damaged frames
        while True:
            is_first = self.line.bits_per_second == self._first_rate != 0
            self.line.write(WAKE + frame if is_first and is_silent else frame, self.deadlines.answer_s)
            effort.tries += 1
            if effort.tries > RATE_TRIES and self._clock() > effort.began_at + RATE_S:
                self.take_first_rate()
            heard = self._listen(request, effort, line_s(self.line, len(frame)))
            if heard.reply is not None or heard.damaged:
                return heard.reply
            effort.retry_s = min(2 * effort.retry_s, self.deadlines.retry_most_s)
            is_silent = True

    def take_first_rate(self) -> None:
        """Returns to the initial rate, as the device does when it receives only damaged frames."""
        if self.line.bits_per_second != self._first_rate:
            self.line.set_rate(self._first_rate)

    def _listen(self, request: Packet, effort: Effort, sending_s: float) -> Heard:
        """Receives until there is a reply, or until it is time to repeat the request."""
        heard = Heard()
        quiet_s = 0.0 if effort.tries < PROMPT_RETRIES else QUIET_S
        resend_at = self._clock() + sending_s + effort.retry_s
        while heard.reply is None and self._clock() < resend_at:
            self._check_deadline(effort)
            wait_s = quiet_s if heard.damaged else min(resend_at, effort.give_up_at) - self._clock()
            received = self.line.read(READ_BYTES, max(0.0, wait_s))
            if heard.damaged and not received:
                break
            self._sort(self._decoder.feed(received), request, effort, heard)
            if heard.reply is None and heard.boot_nonce is not None:
                raise DeviceBooted(heard.boot_nonce)
            if heard.is_working and effort.runs:
                self._await_work(effort)
                resend_at = self._clock() + effort.retry_s
            heard.is_working = False
        return heard

    def _await_work(self, effort: Effort) -> None:
        """Applies the run's deadline after the device has received the request, and slows down retries."""
        effort.runs -= 1
        effort.deadline_s = self._run_s
        effort.give_up_at = self._clock() + self._run_s
        effort.retry_s = self.deadlines.retry_most_s

    def _check_deadline(self, effort: Effort) -> None:
        if self._clock() < effort.give_up_at:
            return
        garbage = bytes(effort.garbage) or self._decoder.unfinished
        raise failures.silent(effort.operation, self.line.name, effort.deadline_s, effort.damaged, garbage)

    def _sort(self, found: list[bytes | Damage], request: Packet, effort: Effort, heard: Heard) -> None:
        for item in found:
            if isinstance(item, Damage):
                self._note(item, effort)
                heard.damaged = True
            else:
                self._take(Packet.unpack(item), request, effort, heard)

    @staticmethod
    def _note(damage: Damage, effort: Effort) -> None:
        effort.damaged += 1
        effort.garbage += damage.received[: GARBAGE_BYTES - len(effort.garbage)]

    def _take(self, packet: Packet, request: Packet, effort: Effort, heard: Heard) -> None:
        if packet.answers(request):
            heard.reply = packet
        elif packet.is_working_on(request):
            heard.is_working = True
        elif packet.kind == Notice.DAMAGED:
            heard.damaged = True
        elif packet.kind == Notice.LOG:
            self._log(text_of(packet.payload), effort)
        elif packet.kind == Notice.BOOTED:
            heard.boot_nonce = int.from_bytes(packet.payload, "little")

    def _log(self, text: str, effort: Effort) -> None:
        if self._log_bytes_left < 0:
            return
        effort.logged += 1
        self._log_bytes_left -= len(text) + 1
        if self._log_bytes_left < 0:
            self._on_log(f"(more than {LOG_BYTES:,} bytes in this session: the rest is omitted)")
        elif effort.logged <= LOG_LINES:
            self._on_log(text)
        elif effort.logged == LOG_LINES + 1:
            self._on_log(f"(more than {LOG_LINES} lines during {effort.operation}: the rest is omitted)")


def line_s(line: Transport, count: int) -> float:
    """Returns the transmission time of `count` bytes in seconds, or 0 if the line has no rate."""
    return count * BITS_PER_BYTE / line.bits_per_second if line.bits_per_second else 0.0
