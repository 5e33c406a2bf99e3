"""A line that loses, repeats, delays and reorders whole frames, the same way every time for one seed."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from platforms.transport.base import Clock, Transport


@dataclass(frozen=True, slots=True)
class FrameFaults:
    """The share of frames to which each fault happens."""

    lost: float = 0.0
    duplicated: float = 0.0
    overtaken: float = 0.0  # by the next one that comes
    delayed: float = 0.0
    delay_s: float = 0.05


@dataclass(slots=True)
class _Way:
    """One direction: frames go in, and come out when their time has come."""

    faults: FrameFaults
    chance: random.Random
    waiting: list[tuple[float, bytes]] = field(default_factory=list)
    overtaken: list[bytes] = field(default_factory=list)

    def put(self, frame: bytes, now_s: float) -> None:
        if self.chance.random() < self.faults.lost:
            return
        if self.chance.random() < self.faults.overtaken:
            self.overtaken.append(frame)
            return
        late = self.faults.delay_s if self.chance.random() < self.faults.delayed else 0.0
        copies = 2 if self.chance.random() < self.faults.duplicated else 1
        self.waiting += [(now_s + late, frame)] * copies + [(now_s, held) for held in self.overtaken]
        self.overtaken.clear()

    def due(self, now_s: float) -> bytes:
        arrived = b"".join(frame for at, frame in self.waiting if at <= now_s)
        self.waiting = [entry for entry in self.waiting if entry[0] > now_s]
        return arrived

    def next_s(self, now_s: float) -> float:
        return min((at for at, _ in self.waiting), default=now_s + 1e9) - now_s


class FaultyFramesTransport(Transport):
    """Wraps another line; every write is one frame, what is read is cut into frames at its zeros."""

    def __init__(
        self, line: Transport, faults: FrameFaults, seed: int, clock: Clock = time.monotonic
    ) -> None:
        self.name = line.name
        self.bits_per_second = line.bits_per_second
        self._line = line
        self._clock = clock
        self._there = _Way(faults, random.Random(f"{seed} there"))
        self._back = _Way(faults, random.Random(f"{seed} back"))
        self._unfinished = b""

    def read(self, max_bytes: int, deadline_s: float) -> bytes:
        give_up_at = self._clock() + deadline_s
        while True:
            now_s = self._clock()
            self._send_due(now_s)
            arrived = self._back.due(now_s)
            if arrived or now_s >= give_up_at:
                return arrived
            next_s = min(self._there.next_s(now_s), self._back.next_s(now_s), give_up_at - now_s)
            for frame in self._frames(self._line.read(max_bytes, next_s)):
                self._back.put(frame, self._clock())

    def write(self, data: bytes, deadline_s: float) -> None:
        self._there.put(data, self._clock())
        self._send_due(self._clock(), deadline_s)

    def close(self) -> None:
        self._line.close()

    def _send_due(self, now_s: float, deadline_s: float = 1.0) -> None:
        if data := self._there.due(now_s):
            self._line.write(data, deadline_s)

    def _frames(self, received: bytes) -> Iterator[bytes]:
        *ended, self._unfinished = (self._unfinished + received).split(b"\0")
        yield from (b"\0" + encoded + b"\0" for encoded in ended if encoded)
