"""`deploy monitor` starts firmware and shows its output, until it ends or Ctrl-C."""

from __future__ import annotations

import argparse
import codecs
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from aot.errors import InputError
from aot.wording import harmless
from artifact.archive import is_archive
from deploy.benchmark.field_statistics import observed_text, read_observed
from deploy.benchmark.meter import Meter
from deploy.cli import options
from deploy.devices.connection_options import LineOptions
from deploy.devices.firmware import Prepared, build, firmware_of, on_emulator, platform_used, prepare
from deploy.devices.session import open_device
from deploy.inspection.model_operators import is_model_file
from deploy.sensors.sensor_log_page import LogReader, explain, explain_file
from platforms.base import BuildChoices
from platforms.chat_app import PROMPT_SIGN
from platforms.folder import read_project
from platforms.project import App
from platforms.rpc.frame import Decoder
from platforms.rpc.trace import describe
from platforms.sensor_app import SENSOR_APPS
from platforms.transport.base import LineClosedError, Transport

EXAMPLE = """
deploy monitor kws-firmware
deploy monitor kws.tflite --board mps2-an386 --observe --decode
deploy monitor listener --decode
deploy monitor log.txt --decode
"""
_READ_BYTES = 4096
_WRITE_S = 10.0
_READ_S = 1.0  # maximum duration of one read; monitoring continues after it


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_model_archive_or_project(
        parser, more_help=". With --decode also a file with a program's log, or -"
    )
    parser.add_argument(
        "--decode",
        action="store_true",
        help="Explain the log: decisions, latency, losses of a sensor program. For firmware with the server: "
        "statistics of a model compiled with --observe",
    )
    options.add_board(parser, required=False, instead=". An archive or a project has its own")
    options.add_emulated(parser)
    options.add_line(parser, ("runner", "serial", "port"))
    options.add_build(parser)
    options.add_compile_options(parser)


def run(arguments: argparse.Namespace) -> None:
    source, choices = arguments.model, options.build_choices(arguments)
    if arguments.decode and _is_log(source):
        explain_file(source)
        return
    prepared = prepare(source, arguments.board, options.compile_options(arguments))
    prepared = on_emulator(prepared, arguments.platform) if arguments.emulated else prepared
    app = read_project(source).app if source.is_dir() else App.RPC
    if arguments.decode and app is App.RPC:
        _show_counters(prepared, choices, options.line_options(arguments))
        return
    logged = [each for each, kind in SENSOR_APPS.items() if not kind.writes_text]
    if arguments.decode and app not in logged:
        raise InputError(
            f"the app {app.value} of this project writes no log to decode",
            str(source),
            f"deploy new --app {', '.join(each.value for each in logged)}",
        )
    board, platform = prepared.board, platform_used(prepared, choices)
    firmware, chosen = firmware_of(prepared, choices), options.line_options(arguments)
    line = platform.open_line(firmware, board, chosen.runner, chosen.where)
    print(f"{line.name} is connected; Ctrl-C ends", file=sys.stderr)
    if arguments.decode:
        emulated = None if board.counter.instruction_ns is None else board.counter.instructions
        explain(_received(line), LogReader(emulated), is_live=True)
        return
    show = _show_packets() if app is App.RPC else _show_text()
    shown = b""
    for received in _received(line):
        show(received)
        shown = (shown + received)[-len(PROMPT_SIGN) :]
        if app is App.CHAT and shown == PROMPT_SIGN and not _passed_line(line):
            break


def _is_log(path: Path) -> bool:
    """Returns whether the path names a program's log, and not a model or an archive."""
    return str(path) == "-" or (path.is_file() and not is_archive(path) and not is_model_file(path.name))


def _show_counters(prepared: Prepared, choices: BuildChoices, line: LineOptions) -> None:
    """Shows the counters of a model's runs, read from firmware with the server."""
    with open_device(build(prepared, choices), line) as device:
        counters = device.session.observed(device.model)
    if counters is None:
        raise InputError(
            f"{device.model.name} counts no statistics",
            str(prepared.source) if isinstance(prepared.source, Path) else prepared.source.name,
            "compile the model with --observe",
        )
    print(observed_text(read_observed(counters), Meter(device.board)))


def _received(line: Transport) -> Iterator[bytes]:
    """Yields data from the board until the line closes or the user interrupts, then closes the line."""
    try:
        while True:
            yield line.read(_READ_BYTES, _READ_S)
    except LineClosedError as end:
        print(end.what, file=sys.stderr)
    except KeyboardInterrupt:
        print(file=sys.stderr)
    finally:
        line.close()


def _passed_line(line: Transport) -> bool:
    """Sends a typed line to the program, which waits for it. Returns False at the end of what is typed."""
    typed = sys.stdin.buffer.readline()
    if typed:
        line.write(typed, _WRITE_S)
    return bool(typed)


def _show_text() -> Callable[[bytes], None]:
    """Returns a function that prints a program's output; on a terminal, control characters are escaped."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def show(received: bytes) -> None:
        if sys.stdout.isatty():
            print(harmless(decoder.decode(received)), end="", flush=True)
        else:
            sys.stdout.buffer.write(received)
            sys.stdout.buffer.flush()

    return show


def _show_packets() -> Callable[[bytes], None]:
    """Returns a function that prints a line for each packet from firmware with the server."""
    decoder = Decoder()

    def show(received: bytes) -> None:
        for found in decoder.feed(received):
            print(describe(found), flush=True)

    return show
