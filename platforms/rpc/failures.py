"""Errors of communication with a device: each names the problem, the operation and the fix."""

from __future__ import annotations

from collections.abc import Callable

from aot.errors import DeviceError, InputError
from platforms.rpc.messages import Expected, FaultRecord, Hello
from platforms.rpc.protocol import FAULT_MEANING, HINTS, PROTOCOL_VERSION, STATUS_MEANING, Fault, Status

_SHORTEST_CALL_BYTES = 2  # minimum distance of a call from its return address
SHOWN_BYTES = 80  # of unexpected input


class DeviceSilentError(DeviceError):
    """Raised if the device does not answer in time."""


class WrongProtocolError(DeviceError):
    """Raised if the firmware uses another protocol version."""


class DeviceResetError(DeviceError):
    """Raised if the device restarts during an operation."""


class DeviceCrashedError(DeviceResetError):
    """Raised if the device restarts because of a fault; `fault` contains the registers."""

    def __init__(self, what: str, where: str, hint: str, fault: FaultRecord) -> None:
        super().__init__(what, where, hint)
        self.fault = fault


class SessionLostError(DeviceError):
    """Raised if another program has started a session with the device."""


class RequestRefusedError(DeviceError):
    """Raised if the device answers with an error; `status` is its code."""

    def __init__(self, what: str, where: str, hint: str, status: int) -> None:
        super().__init__(what, where, hint)
        self.status = status


class MalformedReplyError(DeviceError):
    """Raised if a reply has a valid checksum but invalid content."""


class LineKeyError(DeviceError):
    """Raised if only one side has a line key, or if the keys differ."""


class WrongModelError(DeviceError):
    """Raised if the firmware does not contain the expected model."""


def silent(operation: str, line: str, deadline_s: float, damaged: int, garbage: bytes) -> DeviceSilentError:
    evidence = [f"{damaged} frames were damaged on the line"] if damaged else []
    if garbage:
        evidence.append(f"instead came {len(garbage)} bytes that are not frames: {garbage[:SHOWN_BYTES]!r}")
    return DeviceSilentError(
        f"device did not answer within {deadline_s:g} s ({operation})",
        where="\n".join([line, *evidence]),
        hint=_silence_hint(damaged, garbage),
    )


def _silence_hint(damaged: int, garbage: bytes) -> str:
    if garbage and garbage.isascii():
        return "the board sends data, but not this protocol: flash the RPC firmware (deploy new --app rpc)"
    if damaged:
        return "check the baud rate on both sides, the cable and the ground"
    return "check that the board is powered, runs the RPC firmware, and uses this port"


def no_key(line: str, hello: Hello, expected: Expected | None) -> LineKeyError:
    """Returns the error for a key that only one side has."""
    if hello.is_locked:
        what, hint = (
            "the line is locked and needs a key",
            "use --line-key FILE, with the key that the firmware was created with",
        )
    else:
        what = "--line-key was given, but the firmware needs no key"
        hint = "omit --line-key, or create firmware that needs a key: deploy new --line-key"
    return LineKeyError(what, _both(line, f'build "{hello.build_id}"', expected), hint)


def wrong_protocol(line: str, hello: Hello, expected: Expected | None) -> WrongProtocolError:
    return WrongProtocolError(
        f"firmware speaks protocol version {hello.protocol}, this deploy speaks {PROTOCOL_VERSION}",
        where=_both(line, f'protocol {hello.protocol}, build "{hello.build_id}"', expected),
        hint="build and flash the firmware again with this version of deploy",
    )


def _both(line: str, on_board: str, expected: Expected | None) -> str:
    """Returns two lines: the firmware on the board, and the expected firmware."""
    lines = [line, f"on the board: {on_board}"]
    return "\n".join(lines if expected is None else [*lines, f"expected: {expected}"])


Locate = Callable[[int], str]


def nowhere(_address: int) -> str:
    """Returns "": the default for `locate` if no program is available."""
    return ""


def reset_during(operation: str, line: str, hello: Hello, locate: Locate = nowhere) -> DeviceResetError:
    fault = hello.fault
    if fault is None or fault.boot != hello.boots - 1:
        return DeviceResetError(
            f"device was reset during {operation}",
            where=f'{line}: build "{hello.build_id}", boot {hello.boots}',
            hint="possible causes: the reset button, a brown-out, a debugger; run it again",
        )
    at, hint = _whereabouts(fault, locate)
    return DeviceCrashedError(
        f"device crashed during {operation}: {fault_name(fault.cause)}{at}",
        where=f"{line}: {fault}",
        hint=hint,
        fault=fault,
    )


def _whereabouts(fault: FaultRecord, locate: Locate) -> tuple[str, str]:
    """Returns the location of a fault, and a hint if it could not be resolved."""
    if fault.pc != 0:
        name, address, at = "pc", fault.pc, "in"
    elif fault.lr != 0:  # if the stack overflowed, the pc was not saved; use the call that filled it
        name, address, at = "call", fault.lr - _SHORTEST_CALL_BYTES, "after a call in"
    else:
        return "", "the registers could not be saved: the stack was full, or the platform does not support it"
    if place := locate(address):
        return f" {at} {place}, {name} 0x{address:08x}", ""
    hint = f"find the function and line: addr2line -f -e firmware.elf 0x{address:08x}"
    return f" at {name} 0x{address:08x}", hint


def reset_and_silent(operation: str, line: str) -> DeviceResetError:
    return DeviceResetError(
        f"device was reset during {operation} and has not answered since",
        where=line,
        hint="press the board's reset button, or flash it again",
    )


def session_lost(operation: str, line: str) -> SessionLostError:
    return SessionLostError(
        f"another program opened a session with the device during {operation}",
        where=line,
        hint="only one program may use a device; close the other one",
    )


def refused(operation: str, line: str, status: int, detail: str = "") -> RequestRefusedError:
    known = status in STATUS_MEANING
    way_out = "" if known else "build and flash the firmware again with this version of deploy"
    name = Status(status).name if known else f"unknown status {status}"
    meaning = f": {STATUS_MEANING[Status(status)]}" if known else ""
    return RequestRefusedError(
        f"device rejected {operation}{meaning}",
        where=f"{line}: {name}{detail}",
        hint=HINTS.get(status, way_out),
        status=status,
    )


def told(operation: str, line: str, status: int, text: str) -> RequestRefusedError:
    """Returns the error of a failed call, with the device's text."""
    return RequestRefusedError(
        f"{operation}: {text or STATUS_MEANING[Status(status)]}",
        where=f"message from the device: {line}",
        hint="",
        status=status,
    )


def no_state(model: str, line: str, status: int) -> InputError:
    """Returns the error for states that the firmware does not have, or cannot save."""
    known = status == Status.NO_STATE
    return InputError(
        f"the model {model} keeps no state between runs"
        + ("" if known else ", or its firmware can save none"),
        line,
        "compile it with --state INPUT=OUTPUT"
        + ("" if known else "; firmware of an older version, and Arduino's, saves no states"),
    )


def malformed(operation: str, line: str, reason: str) -> MalformedReplyError:
    return MalformedReplyError(
        f"device's reply to {operation} has an unexpected format: {reason}",
        where=line,
        hint="build and flash the firmware again with this version of deploy",
    )


def wrong_model(line: str, hello: Hello, expected: Expected, on_board: list[str]) -> WrongModelError:
    return WrongModelError(
        f"firmware does not hold the model {expected.model}",
        where=_both(line, _describe(hello, on_board), expected),
        hint="build and flash the firmware for this model",
    )


def wrong_build(line: str, hello: Hello, expected: Expected, on_board: list[str]) -> WrongModelError:
    return WrongModelError(
        f"firmware holds another build of the model {expected.model}",
        where=_both(line, _describe(hello, on_board), expected),
        hint="flash the firmware again, or compile with the options of the firmware on the board",
    )


def _describe(hello: Hello, on_board: list[str]) -> str:
    models = f"model{'s' if len(on_board) > 1 else ''} {', '.join(on_board)}" if on_board else "no model"
    return f'protocol {hello.protocol}, build "{hello.build_id}", {models}'


def fault_name(cause: int) -> str:
    return FAULT_MEANING[Fault(cause)] if cause in FAULT_MEANING else f"unknown fault {cause}"
