"""Records survive crashes, are written by one run at a time, and merge into one of each point."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from aot.errors import InputError, OutputError
from codegen.kernels.tuning_records import TuningRecord, read_records
from platforms.tuning.record_file import RecordFile, merged

RECORD = TuningRecord("conv i16", "cortex-m4", {"pixels": 2}, 90, 100, time="2026-01-01")


def test_what_was_added_is_read_again(tmp_path: Path) -> None:
    file = RecordFile(tmp_path / "r.jsonl")
    failed = replace(RECORD, cost=None, error="wrong result")
    for record in (RECORD, failed):
        file.add(record)
    file.close()
    assert read_records(tmp_path / "r.jsonl") == (RECORD, failed)


def test_a_line_that_a_crash_cut_short_is_passed_over_and_then_removed(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(RECORD.as_line() + RECORD.as_line()[:40])
    assert read_records(path) == (RECORD,)
    file = RecordFile(path)
    file.add(replace(RECORD, cost=80))
    file.close()
    assert [record.cost for record in read_records(path)] == [90, 80]


def test_a_first_line_that_a_crash_cut_short_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(RECORD.as_line()[:40])
    file = RecordFile(path)
    file.add(RECORD)
    file.close()
    assert read_records(path) == (RECORD,)


@pytest.mark.parametrize("content", [b"TFL3\n\xff\xfe of a model", b"my thesis\nits last line", b'{"a": 1}'])
def test_a_file_that_holds_no_records_is_left_as_it_is(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"not (a )?tuning record"):
        RecordFile(path)
    assert path.read_bytes() == content


def test_records_go_into_files_only() -> None:
    with pytest.raises(OutputError, match="the records must be a regular file"):
        RecordFile(Path("/dev/null"))


def test_a_full_disk_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_file: int, _data: bytes) -> int:
        raise OSError(28, "No space left on device")

    file = RecordFile(tmp_path / "r.jsonl")
    monkeypatch.setattr("os.write", full)
    with pytest.raises(OutputError, match="the records cannot be written: No space left on device"):
        file.add(RECORD)
    file.close()


def test_two_runs_do_not_write_one_file(tmp_path: Path) -> None:
    first = RecordFile(tmp_path / "r.jsonl")
    with pytest.raises(OutputError, match="another run is writing these records"):
        RecordFile(tmp_path / "r.jsonl")
    first.close()
    RecordFile(tmp_path / "r.jsonl").close()


def test_the_latest_of_records_of_one_point_stays() -> None:
    later, other = replace(RECORD, cost=95, time="2026-01-02"), replace(RECORD, knobs={"pixels": 1})
    assert merged([(later,), (RECORD, other)]) == (later, other)
