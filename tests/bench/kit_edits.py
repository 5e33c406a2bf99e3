"""Edits of result files, as somebody makes them who wants another figure."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from deploy.silicon.kit_file import ESTIMATES, LOG, RESULT, as_json
from deploy.silicon.line_log import FROM_BOARD, NOTE, read_log
from deploy.silicon.replay import figures_of
from platforms.rpc.frame import Decoder, Packet, encode_frame
from platforms.rpc.protocol import REPLY_BIT, Message

Parts = Mapping[str, bytes]
Edit = Callable[[Parts], Parts]


def of_result(change: Callable[[Any], None]) -> Edit:
    """Changes result.json alone."""

    def edit(parts: Parts) -> Parts:
        facts = json.loads(parts[RESULT])
        change(facts)
        return {**parts, RESULT: as_json(facts)}

    return edit


def of_lines(change: Callable[[list[str]], list[str]]) -> Edit:
    """Changes the lines of the log, and derives the figures again where that is possible."""

    def edit(parts: Parts) -> Parts:
        lines = change(parts[LOG].decode().splitlines())
        changed = {**parts, LOG: ("\n".join(lines) + "\n").encode()}
        try:
            return {**changed, RESULT: as_json(figures_of(read_log(changed[LOG], LOG), LOG))}
        except Exception:  # the check has to say what is wrong
            return changed

    return edit


def of_notes(change: Callable[[Any], Any]) -> Edit:
    """Changes every note of the log; None removes it."""

    def each(line: str) -> str | None:
        number, at_s, mark, content = line.split(" ", 3)
        if mark != NOTE:
            return line
        note = change(json.loads(content))
        return None if note is None else f"{number} {at_s} {mark} {json.dumps(note)}"

    return of_lines(lambda lines: renumbered([new for line in lines if (new := each(line)) is not None]))


def of_replies(kind: Message, change: Callable[[bytes], bytes | None]) -> Edit:
    """Changes the payload of the board's replies of a kind, with a right checksum; None removes them."""

    def each(line: str) -> str | None:
        number, at_s, mark, content = line.split(" ", 3)
        if mark != FROM_BOARD:
            return line
        (frame,) = Decoder().feed(bytes.fromhex(content))
        assert isinstance(frame, bytes)
        packet = Packet.unpack(frame)
        if packet.kind != kind | REPLY_BIT:
            return line
        payload = change(packet.payload)
        if payload is None:
            return None
        return f"{number} {at_s} {mark} {encode_frame(replace(packet, payload=payload).pack()).hex()}"

    return of_lines(lambda lines: renumbered([new for line in lines if (new := each(line)) is not None]))


def renumbered(lines: list[str]) -> list[str]:
    return [f"{number} {line.split(' ', 1)[1]}" for number, line in enumerate(lines)]


def slower(lines: list[str], factor: float) -> list[str]:
    """The computer's times, stretched."""
    parts = [line.split(" ", 2) for line in lines]
    return [f"{number} {float(at_s) * factor:.6f} {rest}" for number, at_s, rest in parts]


def of_estimates(change: Callable[[Any], None]) -> Edit:
    def edit(parts: Parts) -> Parts:
        facts = json.loads(parts[ESTIMATES])
        change(facts)
        return {**parts, ESTIMATES: as_json(facts)}

    return edit
