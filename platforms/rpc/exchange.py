"""Sends one request at a time, again and again until it is answered, for lines lose and damage bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from platforms.rpc import failures
from platforms.rpc.deadlines import Deadlines
from platforms.rpc.frame import Damage, Decoder, encode_frame
from platforms.rpc.messages import text_of
from platforms.rpc.packet import Packet
from platforms.rpc.protocol import Notice
from platforms.transport.base import Clock, Transport

READ_BYTES = 4096
LOG_LINES = 200  # of the device's log that are shown during one request; more is a device gone wild
LOG_BYTES = 65_536  # of it in a session
GARBAGE_BYTES = 256  # of what is not a frame, kept for the message
PROMPT_RETRIES = 16  # so often is a request sent again at once after damage; more is endless noise
QUIET_S = 0.002  # after that, only when no byte has come for so long
# So often and so long is a request sent at a raised rate; then the first one is tried again.
RATE_TRIES, RATE_S = 3, 1.0
# Damaged frames, as zeros are zeros at any rate: a device left at a raised rate gives it up at eight of them.
WAKE = b"\0U" * 7
BITS_PER_BYTE = 10  # on a serial line: start, eight, stop


class DeviceBooted(Exception):  # noqa: N818 - an event on the line; the session decides whether it is an error
    """The device said that it has just started, with this nonce."""

    def __init__(self, boot_nonce: int) -> None:
        super().__init__(boot_nonce)
        self.boot_nonce = boot_nonce


@dataclass(slots=True)
class Effort:
    """A request under way: its deadline, and what came instead of an answer so far."""

    operation: str
    deadline_s: float
    give_up_at: float
    began_at: float
    retry_s: float
    runs: int = 1  # that the device may still say it is working on: each has a deadline of its own
    logged: int = 0
    tries: int = 0
    damaged: int = 0
    garbage: bytearray = field(default_factory=bytearray)


@dataclass(slots=True)
class Heard:
    """The meaning of some received bytes for the request under way."""

    reply: Packet | None = None
    damaged: bool = False
    is_working: bool = False
    boot_nonce: int | None = None  # of a device that has just started


class Exchange:
    """The host's half of the conversation. Holds no session: the packets say which they belong to."""

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
        """Waits longer for a device that ends a run by itself, so that it can say so."""
        kept = keeps_deadline and self.deadlines.device_run_s > 0
        self._run_s = self.deadlines.kept_run_s if kept else self.deadlines.run_s

    def begin(self, operation: str, deadline_s: float, runs: int = 1) -> Effort:
        """Starts an effort; `runs` counts how often the device says that it begins to compute."""
        now_s = self._clock()
        return Effort(operation, deadline_s, now_s + deadline_s, now_s, self.deadlines.retry_s, runs)

    def ask(self, request: Packet, effort: Effort) -> Packet:
        """Returns the reply. Raises DeviceSilentError when none comes in time, DeviceBooted on a restart."""
        while True:
            reply = self.attempt(request, effort)
            if reply is not None:
                self.line.rest()
                return reply

    def attempt(self, request: Packet, effort: Effort) -> Packet | None:
        """Asks until the reply comes, and returns it; None as soon as something on the line is damaged."""
        frame = encode_frame(request.pack())
        is_silent = False  # only then: a device that hears us answers to each damaged frame
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
        """Goes back to the first rate, as the device does when it receives only damaged frames."""
        if self.line.bits_per_second != self._first_rate:
            self.line.set_rate(self._first_rate)

    def _listen(self, request: Packet, effort: Effort, sending_s: float) -> Heard:
        """Receives until there is a reply, or it is time to ask again: after a while or after damage."""
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
        """Sets the run's own deadline for a request that has arrived, and slows the repetitions down."""
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
        elif packet.says_working_on(request):
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
            self._on_log(f"(more than {LOG_BYTES:,} bytes in this session: the rest is not shown)")
        elif effort.logged <= LOG_LINES:
            self._on_log(text)
        elif effort.logged == LOG_LINES + 1:
            self._on_log(f"(more than {LOG_LINES} lines during {effort.operation}: the rest is not shown)")


def line_s(line: Transport, count: int) -> float:
    """The seconds that so many bytes take on the line; 0 where the line has no rate."""
    return count * BITS_PER_BYTE / line.bits_per_second if line.bits_per_second else 0.0
