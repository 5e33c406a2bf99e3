"""How long to wait for a device: a board answers at once, a program of this computer in its turn."""

from __future__ import annotations

from platforms.rpc.exchange import Deadlines
from platforms.transport.base import Transport

# One that ends closes its line. One that is silent waits for this computer, and is waited for.
PROGRAM_S = 60.0
RUN_S = Deadlines().run_s


def deadlines_for(line: Transport, run_s: float = RUN_S) -> Deadlines:
    """What is reasonable at this line; `run_s` for one run is the user's to say."""
    if line.is_program:
        return Deadlines(hello_s=PROGRAM_S, answer_s=PROGRAM_S, run_s=run_s)
    return Deadlines(run_s=run_s)
