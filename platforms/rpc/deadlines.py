"""The times, in seconds, to wait for a device."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Deadlines:
    """The longest waits, in seconds."""

    hello_s: float = 10.0  # a board may sit in its boot loader first
    answer_s: float = 5.0  # for a request that needs no computing
    run_s: float = 120.0  # for one run or one repeat, after the device said that it is working
    device_run_s: float = 0.0  # the same by the device's own clock, which ends it as a fault; 0: it does not
    kept_run_s: float = 120.0  # as run_s, where the device does: for the fault to come back
    rate_s: float = 0.3  # for the first answer at a new rate, before the old one is taken again
    retry_s: float = 0.25  # before a request is sent again for the first time; doubles
    retry_most_s: float = 2.0
