"""`deploy monitor` starts a project's firmware and shows what it sends, until it ends or Ctrl-C."""

from __future__ import annotations

import argparse
import codecs
import sys
from collections.abc import Callable

from aot.printable import printable
from deploy import options
from deploy.firmware import build_project, project_board
from platforms.base import BuildChoices
from platforms.folder import read_project
from platforms.project import App
from platforms.rpc.frame import Decoder
from platforms.transport.base import LineClosedError, Transport
from platforms.transport.trace import describe

EXAMPLE = """
deploy monitor kws-firmware
"""
_READ_BYTES = 4096
_READ_S = 1.0  # how long one read may wait; monitoring goes on after it


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_project(parser)
    options.add_toolchain(parser)
    options.add_line(parser, ("runner", "serial", "port"))


def run(arguments: argparse.Namespace) -> None:
    board, platform = project_board(arguments.directory)
    firmware = build_project(platform, arguments.directory, board, BuildChoices(arguments.toolchain))
    show = _show_packets() if read_project(arguments.directory).app is App.RPC else _show_text()
    chosen = options.line_options(arguments)
    line = platform.open_line(firmware, board, chosen.runner, chosen.where)
    try:
        print(f"{line.name} is connected; Ctrl-C ends", file=sys.stderr)
        _copy(line, show)
    except LineClosedError as end:
        print(end.what, file=sys.stderr)
    except KeyboardInterrupt:
        print(file=sys.stderr)
    finally:
        line.close()


def _copy(line: Transport, show: Callable[[bytes], None]) -> None:
    while True:
        show(line.read(_READ_BYTES, _READ_S))


def _show_text() -> Callable[[bytes], None]:
    """Passes on what a program prints; on a terminal it spells out commands to the terminal."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def show(received: bytes) -> None:
        if sys.stdout.isatty():
            print(harmless(decoder.decode(received)), end="", flush=True)
        else:
            sys.stdout.buffer.write(received)
            sys.stdout.buffer.flush()

    return show


def harmless(text: str) -> str:
    """Keeps line ends and tabs, and spells out all other commands to a terminal."""
    return "".join(letter if letter in "\n\r\t" else printable(letter) for letter in text)


def _show_packets() -> Callable[[bytes], None]:
    """Prints a line for each packet that firmware with the server sends."""
    decoder = Decoder()

    def show(received: bytes) -> None:
        for found in decoder.feed(received):
            print(describe(found), flush=True)

    return show
