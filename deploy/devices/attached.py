"""Checks the user's own firmware, which is already running: its model, and its counter."""

from __future__ import annotations

from aot.errors import BoardError
from boards.board import Board
from codegen.job import Job
from deploy.benchmark.counter_check import counter_note
from deploy.devices.buildable_boards import platform_here
from deploy.devices.connection_options import LineOptions
from deploy.devices.firmware import Ready
from deploy.devices.session import open_device
from platforms.rpc.messages import Expected


def require_own_firmware(job: Job, board: Board, line: LineOptions) -> None:
    """Raises DeployError if the firmware contains another model, or if the board cannot measure."""
    expected = Expected(job.model.name, bytes.fromhex(job.model.hash))
    with open_device(Ready(None, platform_here(board), board, expected), line) as device:
        note = counter_note(board, device.board)
    if note:
        raise BoardError(note, board.name, "kernels are compared by counted events")
