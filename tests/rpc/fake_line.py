"""A line that is a script: what the device says, in answer to each write or when the clock gets there."""

from collections.abc import Callable

from platforms.transport.base import LineClosedError, Transport

Answer = Callable[[bytes], bytes]


class FakeTransport(Transport):
    """Answers each write by calling `answer`; time passes (on `clock`) only in reads that wait in vain."""

    name = "fake line"

    def __init__(self, answer: Answer) -> None:
        self.now_s = 0.0
        self.written: list[bytes] = []
        self._answer = answer
        self._incoming = bytearray()
        self._is_closed = False

    def clock(self) -> float:
        return self.now_s

    def say(self, data: bytes) -> None:
        """Bytes from the device that nobody asked for."""
        self._incoming += data

    def read(self, max_bytes: int, deadline_s: float) -> bytes:
        if not self._incoming and self._is_closed:
            raise LineClosedError(f"{self.name} closed the line")
        if not self._incoming:
            self.now_s += max(0.0, deadline_s)
        received = bytes(self._incoming[:max_bytes])
        del self._incoming[:max_bytes]
        return received

    def write(self, data: bytes, deadline_s: float) -> None:
        self.written.append(data)
        self._incoming += self._answer(data)

    def close(self) -> None:
        self._is_closed = True
