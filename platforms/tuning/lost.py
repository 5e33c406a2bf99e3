"""Determines from a board that was lost during a trial how the candidate failed."""

from __future__ import annotations

from aot.errors import DeviceError
from platforms.rpc.failures import DeviceCrashedError, DeviceResetError, DeviceSilentError
from platforms.rpc.protocol import Fault
from platforms.tuning.trial import Failure, Outcome

HELLO_S = 60.0  # long, so that a slow board start does not count as a candidate's failure
_BY_CAUSE = {Fault.WATCHDOG: Failure.HANG, Fault.OVERWRITTEN: Failure.CORRUPTION}


def outcome_of(error: DeviceError) -> Outcome:
    if isinstance(error, DeviceSilentError):
        return Outcome(failure=Failure.HANG)
    if isinstance(error, DeviceCrashedError):
        failure = _BY_CAUSE.get(Fault(error.fault.cause), Failure.CRASH)
        return Outcome(failure=failure, detail=str(error.fault) if failure is Failure.CRASH else "")
    reset = isinstance(error, DeviceResetError)
    return Outcome(failure=Failure.CRASH, detail="the board restarted" if reset else error.what)
