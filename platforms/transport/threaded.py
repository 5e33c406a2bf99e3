"""Transfers bytes with a thread at each end, for Windows, which cannot poll pipes."""

from __future__ import annotations

import threading
import time

from platforms.transport.flow import LineEnds

_MOST_WAITING = 1 << 20  # read-ahead limit in bytes; then the other end blocks as with a full pipe
_PIECE = 65536


class ThreadedFlow:
    """Two threads that serve the ends while these are open. Calls wait for their results."""

    def __init__(self, ends: LineEnds) -> None:
        self._ends = ends
        self._changed = threading.Condition()
        self._received = bytearray()
        self._has_ended = False
        self._to_send = memoryview(b"")
        self._error: OSError | None = None
        threading.Thread(target=self._receive, daemon=True).start()
        self._sender: threading.Thread | None = None

    @property
    def is_sending(self) -> bool:
        return bool(self._to_send) and self._error is None

    def read(self, max_bytes: int, deadline_s: float) -> bytes | None:
        with self._changed:
            if not self._changed.wait_for(lambda: self._received or self._has_ended, max(0.0, deadline_s)):
                return None
            taken = bytes(self._received[:max_bytes])
            del self._received[:max_bytes]
            self._changed.notify_all()
            return taken

    def write(self, data: bytes, deadline_s: float) -> bool:
        give_up_at = time.monotonic() + deadline_s
        if self._sender is None:  # started late, because some lines are never written to
            self._sender = threading.Thread(target=self._send, daemon=True)
            self._sender.start()
        with self._changed:
            if not self._is_all_sent(give_up_at):
                return False
            self._to_send = memoryview(data)
            self._changed.notify_all()
            return self._is_all_sent(give_up_at)

    def _is_all_sent(self, give_up_at: float) -> bool:
        left_s = max(0.0, give_up_at - time.monotonic())
        is_sent = self._changed.wait_for(lambda: not self._to_send or self._error, left_s)
        if self._error:
            raise self._error
        return bool(is_sent)

    def _receive(self) -> None:
        piece = b"?"
        while piece:
            try:
                piece = self._ends.receive(_PIECE)
            except OSError:
                piece = b""
            with self._changed:
                self._changed.wait_for(lambda: len(self._received) < _MOST_WAITING)
                self._received += piece
                self._has_ended = not piece
                self._changed.notify_all()

    def _send(self) -> None:
        while self._error is None:
            with self._changed:
                self._changed.wait_for(lambda: self._to_send)
                rest = self._to_send
            try:
                sent = self._ends.send(rest[:_PIECE])
            except OSError as error:
                self._error = error
                sent = 0
            with self._changed:
                self._to_send = rest[sent:]
                self._changed.notify_all()
