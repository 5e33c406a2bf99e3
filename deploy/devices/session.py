"""Sessions with firmware, which is started before and stopped after each."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from aot.errors import OutputError
from boards.board import Board
from deploy.benchmark.counter_check import counted_by
from deploy.compiler.accelerator_errors import blamed_on_accelerators
from deploy.devices.connection_options import LineOptions
from deploy.devices.firmware import Ready
from platforms.elf import place_at
from platforms.line_deadlines import deadlines_for
from platforms.rpc.failures import nowhere
from platforms.rpc.line_key import read_line_key
from platforms.rpc.messages import RemoteModel
from platforms.rpc.session import Session
from platforms.rpc.trace import TraceTransport
from platforms.transport.base import Transport
from platforms.transport.ports import open_port_of


@dataclass(frozen=True, slots=True)
class Device:
    """A connected board with the expected model."""

    session: Session
    model: RemoteModel
    board: Board  # with the counter that this line provides


@contextmanager
def open_device(ready: Ready, choices: LineOptions) -> Iterator[Device]:
    """Starts the firmware, connects to it and finds the model."""
    line = line_to(ready, choices)
    with device_on(line, ready, choices) as device:
        yield device


def line_to(ready: Ready, choices: LineOptions) -> Transport:
    """Starts the firmware and connects to it. The caller closes the line."""
    if ready.firmware is None:
        return open_port_of(ready.board, choices.where.serial, choices.where.port)
    return ready.platform.open_line(ready.firmware, ready.board, choices.runner, choices.where)


@contextmanager
def device_on(line: Transport, ready: Ready, choices: LineOptions) -> Iterator[Device]:
    """Connects to running firmware over `line` and finds the model. Closes the line at the end."""
    with ExitStack() as stack:
        stack.callback(line.close)
        session = Session(
            _traced(line, choices.trace, stack),
            deadlines=deadlines_for(line, ready.board, choices.run_s),
            on_log=_show_log,
            locate=nowhere if ready.firmware is None else partial(place_at, ready.firmware.elf),
            expected=ready.expected,
            memory_bytes=ready.board.target.ram_bytes,
            line_key=read_line_key(choices.line_key) if choices.line_key else b"",
        )
        session.hello()
        session.raise_rate()
        with blamed_on_accelerators(ready.layers):
            model = session.find_model(ready.expected)
            board = ready.board if choices.port is None else counted_by(session, model, ready.board)
            yield Device(session, model, board)


def _traced(line: Transport, trace: Path | None, stack: ExitStack) -> Transport:
    if trace is None:
        return line
    try:
        file = stack.enter_context(trace.open("w", encoding="utf-8"))
    except OSError as error:
        raise OutputError(
            f"the trace cannot be written: {error.strerror}", str(trace), "name a writable file"
        ) from error
    return TraceTransport(line, file)


def _show_log(text: str) -> None:
    print(f"device: {text}", file=sys.stderr)
