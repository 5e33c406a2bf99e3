"""A line to firmware in QEMU that records the last run of a model: the start of each executed block.

QEMU logs the executed blocks and is controlled through its debug port. A thread waits at that port: for the
first instruction of a run, its return, and each layer's report.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from platforms.cycles.block_log import LayerReport, trace_of
from platforms.cycles.machine_code import MACHINE_CODES
from platforms.cycles.trace import TracePoints
from platforms.elf import Segment
from platforms.runners.gdb_stub import DebugPort, debug_address
from platforms.transport.base import LineClosedError
from platforms.transport.pipe import PipeTransport

_BLOCKS = "exec,nochain"  # logs every block, also if QEMU could chain them
_START_S, _END_S = 20.0, 5.0
_GLANCE_S = 0.01  # seconds between checks for the port, which QEMU creates at startup


class RecordingLine(PipeTransport):
    """A line that on close writes the last run's trace to a file."""

    def __init__(
        self, argv: Sequence[str], where: TracePoints, segments: Sequence[Segment], machine: str, file: Path
    ) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="solder-qemu-")
        self._where, self._segments, self._file = where, segments, file
        self._machine, self._registers = machine, MACHINE_CODES[machine]
        self._log = Path(self._folder.name) / "blocks"
        self._reports: list[LayerReport] = []
        address = debug_address(Path(self._folder.name))
        super().__init__((*argv, "-gdb", address.option))
        self._port = DebugPort(address)
        self._stand_still()  # until the thread is connected, so that no run is missed
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._process.kill()
        self._thread.join(_END_S)
        super().close()
        if self._log.exists():
            with self._log.open() as log:
                trace_of(log, self._reports, self._where, self._segments, self._machine).save(self._file)
        self._folder.cleanup()

    def _stand_still(self) -> None:
        give_up_at = time.monotonic() + _START_S
        while True:
            try:
                return self._port.stop()
            except LineClosedError:
                if self.exit_status is not None or time.monotonic() > give_up_at:
                    raise
            time.sleep(_GLANCE_S)

    def _follow(self) -> None:
        """Records each run until the line is closed, which terminates QEMU."""
        try:
            while True:
                self._to(self._where.run)
                self._record()
        except LineClosedError:
            self._port.close()

    def _to(self, *addresses: int) -> int:
        """Resumes the board until it reaches one of these addresses, and returns it."""
        for address in addresses:
            self._port.stop_at(address)
        self._port.resume()
        for address in addresses:
            self._port.pass_by(address)
        return self._port.register(self._registers.pc) & ~1

    def _record(self) -> None:
        """Records the run that is about to start."""
        end, reports = self._link(), []
        stops = (end, self._where.on_layer) if self._where.on_layer is not None else (end,)
        self._log.unlink(missing_ok=True)
        log = self._log.with_suffix(".being-written")
        self._port.monitor(f"logfile {log}")
        self._port.monitor(f"log {_BLOCKS}")
        while self._to(*stops) != end:
            reports.append(LayerReport(self._port.register(self._registers.argument), self._link()))
            self._to(reports[-1].returns_to)
        self._port.monitor("log none")
        log.rename(self._log)
        self._reports = reports

    def _link(self) -> int:
        return self._port.register(self._registers.link) & ~1
