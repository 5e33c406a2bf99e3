"""A line over one or two file descriptors, for pipes, sockets and pseudo-terminals."""

from __future__ import annotations

from platforms.transport.base import LineClosedError, Transport, stuck
from platforms.transport.flow import LineEnds
from platforms.transport.system import flow_of


class DescriptorTransport(Transport):
    """Reads from one descriptor and writes to another, or to the same."""

    def __init__(self, name: str, ends: LineEnds) -> None:
        self.name = name
        self._flow = flow_of(ends)

    def read(self, max_bytes: int, deadline_s: float) -> bytes:
        received = self._flow.read(max_bytes, deadline_s)
        if received is None:
            return b""
        if not received:
            raise self._closed()
        return received

    def write(self, data: bytes, deadline_s: float) -> None:
        try:
            is_sent = self._flow.write(data, deadline_s)
        except OSError as error:
            raise self._closed() from error
        if not is_sent:
            raise stuck(self.name, deadline_s)

    def _closed(self) -> LineClosedError:
        return LineClosedError(f"{self.name} closed the line")
