"""Each way to get another figure into a result file is found, even if the hashes are made again."""

import struct
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from kit_edits import Edit, of_estimates, of_lines, of_notes, of_replies, of_result, renumbered, slower

from deploy.silicon.check_kit import check_parts
from deploy.silicon.kit_file import ENERGY, LOG, KitFile, sealed
from platforms.rpc.protocol import Message

pytestmark = [pytest.mark.arm, pytest.mark.qemu, pytest.mark.slow]


def put(*path: str | int, value: object) -> Callable[[Any], None]:
    def change(facts: Any) -> None:
        for key in path[:-1]:
            facts = facts[key]
        facts[path[-1]] = value

    return change


def head(*path: str, value: object) -> Callable[[Any], Any]:
    """A change of the facts at the head of the log."""

    def change(note: Any) -> Any:
        if "measurement" in note:
            put(*path, value=value)(note["measurement"])
        return note

    return change


def firmware(key: str, value: object) -> Callable[[Any], Any]:
    def change(note: Any) -> Any:
        if "firmware" in note:
            note["firmware"][key] = value
        return note

    return change


def without(text: str, most: int = 1_000_000) -> Callable[[list[str]], list[str]]:
    def change(lines: list[str]) -> list[str]:
        found = [line for line in lines if text in line][:most]
        return [line for line in lines if line not in found]

    return change


def faster_runs(payload: bytes) -> bytes:
    (ticks,) = struct.unpack_from("<Q", payload, 17)
    return payload[:17] + struct.pack("<Q", ticks // 2)


def other_outputs(payload: bytes) -> bytes:
    return bytes([payload[0] ^ 1]) + payload[1:]


def other_core(payload: bytes) -> bytes:
    return payload[:1] + struct.pack("<I", 0x411FC272)


def other_build(payload: bytes) -> bytes:
    return payload.replace(b"gestures-", b"gestures_")


def cheaper_layers(payload: bytes) -> bytes:
    head, rest = payload[:11], payload[11:]
    layers = [(ticks // 3, crc) for ticks, crc in struct.iter_unpack("<QI", rest)]
    return head + b"".join(struct.pack("<QI", *layer) for layer in layers)


# What was done -> the edit, and what the check says. The hashes are made again after each.
RESEALED: Mapping[str, tuple[Edit, str]] = {
    "a model's cycles": (of_result(put("models", 0, "cycles", value=1)), "models[0].cycles is 1, by the log"),
    "a layer's time": (
        of_result(put("models", 1, "layers", 1, "time_s", value=1e-9)),
        "models[1].layers[1].time_s",
    ),
    "a run": (of_result(put("models", 0, "runs", value=[5, 5, 5])), "models[0].runs"),
    "the clock": (of_result(put("clock", "measured_hz", value=25_000_000)), "clock.measured_hz"),
    "the firmware's hash": (
        of_result(put("models", 0, "firmware_sha256", value="0" * 64)),
        "firmware_sha256",
    ),
    "the date": (of_result(put("measurement", "date", value="2026-11-01T00:00:00Z")), "measurement.date"),
    "the board": (of_result(put("measurement", "board", "name", value="mps2-an386")), "board.name"),
    "the temperature": (
        of_result(put("measurement", "conditions", "temperature_c", value=25)),
        "temperature_c",
    ),
    "the outputs' hash": (of_result(put("models", 0, "outputs_sha256", value="0" * 64)), "outputs_sha256"),
    "the compiler": (of_result(put("models", 0, "toolchain", value="clang")), "toolchain is 'clang'"),
    "a line dropped": (of_lines(lambda lines: lines[:40] + lines[41:]), "line 40 of the log is missing"),
    "a request dropped, lines numbered again": (
        of_lines(lambda lines: renumbered(lines[:40] + lines[60:])),
        "line.log",
    ),
    "the log cut": (of_lines(lambda lines: lines[: len(lines) // 2]), "the log is cut off after line"),
    "the log cut, with an end": (of_lines(lambda lines: renumbered([*lines[:200], lines[-1]])), "line.log"),
    "digits of a reply": (
        of_lines(lambda lines: [line.replace("a", "b") if " < " in line else line for line in lines]),
        "line.log",
    ),
    "runs dropped": (of_replies(Message.RUN, lambda _: None), "0 of 3 runs"),
    "runs twice as fast": (of_replies(Message.RUN, faster_runs), "alone and"),
    "layers a third": (of_replies(Message.PROFILE, cheaper_layers), "the layers take"),
    "the computer's times": (of_lines(lambda lines: slower(lines, 1.1)), "the clock does not fit"),
    "outputs": (of_replies(Message.READ, other_outputs), "the outputs are wrong"),
    "the core's number": (of_replies(Message.INVOKE, other_core), "its core has the part number 0xC27"),
    "the firmware's name": (of_replies(Message.HELLO, other_build), "the firmware reports build gestures_"),
    "board swapped everywhere": (
        of_notes(head("board", "name", value="mps2-an386")),
        "mps2-an386 has counter",
    ),
    "clock of the board everywhere": (of_notes(head("board", "clock_hz", value=50_000_000)), "has clock_hz"),
    "date everywhere": (
        of_notes(head("date", value="2026-11-01T00:00:00Z")),
        "the firmware was not made of this model for this board with these facts",
    ),
    "a date to come": (of_notes(head("date", value="2090-01-01T00:00:00Z")), "in the future"),
    "supply everywhere": (of_notes(head("conditions", value={})), "the firmware was not made of"),
    "another model": (of_notes(firmware("sha256", "0" * 64)), "is another file than here"),
    "another build": (of_notes(firmware("build_id", "x-0")), "the firmware reports build"),
    "a model less": (of_notes(head("models", value=["digits"])), "the models are not those of the kit"),
    "energy invented": (
        lambda parts: {**parts, ENERGY: b"model,time_s,current_a\n"},
        "energy is None, by the log",
    ),
}
# Edits that only the hashes show, because nothing else in the file depends on them.
HASHED: Mapping[str, Edit] = {
    "the cycle model's figures": of_estimates(put("models", "digits", "cycles", value=90_000)),
    "a note of the log": of_notes(firmware("firmware_sha256", "0" * 64)),
}


@pytest.mark.parametrize("name", RESEALED)
def test_an_edit_is_found_though_the_hashes_are_made_again(name, silicon):
    edit, says = RESEALED[name]
    parts = edit(silicon.parts)
    assert parts != silicon.parts
    report = check_parts(sealed(silicon.path, parts))
    assert says in "\n".join(report.problems)
    assert not report.is_hardware


@pytest.mark.parametrize("name", [*RESEALED, *HASHED])
def test_an_edit_is_found_by_the_hashes(name, silicon):
    edit = HASHED[name] if name in HASHED else RESEALED[name][0]
    report = check_parts(KitFile(silicon.path, edit(silicon.parts), silicon.manifest))
    assert any("was edited" in problem or "was added" in problem for problem in report.problems)
    assert not report.is_hardware


def test_hashes_and_their_seal_are_compared(silicon):
    hashes = {**silicon.manifest["sha256"], LOG: "0" * 64}
    kit = KitFile(silicon.path, silicon.parts, {**silicon.manifest, "sha256": hashes})
    problems = check_parts(kit).problems
    assert any("its seal does not fit" in problem for problem in problems)
    assert any(problem.startswith(LOG) for problem in problems)
