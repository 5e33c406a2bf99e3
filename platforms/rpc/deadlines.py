"""Timeouts for communication with a device, in seconds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Maximum waiting times in seconds."""

    hello_s: float = 10.0  # a board may be in its boot loader at first
    answer_s: float = 5.0  # for requests without computation
    run_s: float = 120.0  # for one run or repeat, after the device has reported that it is working
    device_run_s: float = 0.0  # enforced by the device, which stops the run with a fault; 0: not enforced
    kept_run_s: float = 120.0  # replaces run_s if the device enforces the limit: the fault must arrive
    rate_s: float = 0.3  # for the first reply at a new baud rate, before falling back
    retry_s: float = 0.25  # before the first repetition of a request; doubles
    retry_most_s: float = 2.0
