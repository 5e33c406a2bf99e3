"""Records survive crashes and merge; --tasks takes numbers and ranges."""

from dataclasses import replace
from pathlib import Path

import pytest
from error_facts import refused

from aot.errors import InputError, OutputError
from codegen.kernels.tuning_records import TuningRecord, read_records
from deploy.tuner.tune_model import task_numbers
from platforms.tuning.record_file import RecordFile, merged

RECORD = TuningRecord("conv i16", "cortex-m4", {"pixels": 2}, 90, 100, time="2026-01-01")


def test_what_was_added_is_read_again(tmp_path):
    file = RecordFile(tmp_path / "r.jsonl")
    failed = replace(RECORD, cost=None, error="wrong result")
    for record in (RECORD, failed):
        file.add(record)
    file.close()
    assert read_records(tmp_path / "r.jsonl") == (RECORD, failed)


def test_a_line_that_a_crash_cut_short_is_passed_over_and_then_removed(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text(RECORD.as_line() + RECORD.as_line()[:40])
    assert read_records(path) == (RECORD,)
    file = RecordFile(path)
    file.add(replace(RECORD, cost=80))
    file.close()
    assert [record.cost for record in read_records(path)] == [90, 80]


def test_a_first_line_that_a_crash_cut_short_is_removed(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text(RECORD.as_line()[:40])
    file = RecordFile(path)
    file.add(RECORD)
    file.close()
    assert read_records(path) == (RECORD,)


@pytest.mark.parametrize("content", [b"TFL3\n\xff\xfe of a model", b"my thesis\nits last line", b'{"a": 1}'])
def test_a_file_that_holds_no_records_is_left_as_it_is(content, tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"not (a )?tuning record"):
        RecordFile(path)
    assert path.read_bytes() == content


def test_records_go_into_files_only():
    with pytest.raises(OutputError, match="the records must be a regular file"):
        RecordFile(Path("/dev/null"))


def test_a_full_disk_is_said(tmp_path, monkeypatch):
    def full(_file: int, _data: bytes) -> int:
        raise OSError(28, "No space left on device")

    file = RecordFile(tmp_path / "r.jsonl")
    monkeypatch.setattr("os.write", full)
    with pytest.raises(OutputError, match="the records cannot be written: No space left on device"):
        file.add(RECORD)
    file.close()


def test_two_runs_do_not_write_one_file(tmp_path):
    first = RecordFile(tmp_path / "r.jsonl")
    with pytest.raises(OutputError, match="another run is writing these records"):
        RecordFile(tmp_path / "r.jsonl")
    first.close()
    RecordFile(tmp_path / "r.jsonl").close()


def test_the_latest_of_records_of_one_point_stays():
    later, other = replace(RECORD, cost=95, time="2026-01-02"), replace(RECORD, knobs={"pixels": 1})
    assert merged([(later,), (RECORD, other)]) == (later, other)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("4,1-2", [1, 2, 4]),
        ("2-", [2, 3, 4, 5]),
        ("1, 4 -", [1, 4, 5]),
        ("5-", [5]),
        ("3,3-4", [3, 4]),
    ],
)
def test_numbers_and_ranges_are_taken_in_order(text, numbers):
    assert task_numbers(text, 5) == numbers


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("3-1", '"3-1": 3-1 1-3'),
        ("6", "no task 6 1 to 5; deploy tune --list"),
        ("6-", "no task 6 1 to 5; deploy tune --list"),
        ("0-", "no task 0 1 to 5; deploy tune --list"),
        ("4-7", "no task 6 1 to 5; deploy tune --list"),
        *((text, f'"{text}" not a list like 1,3-5 or 2- 1 to 5') for text in ("x", "-2", "1,,2", "1-2-3")),
    ],
)
def test_anything_else_is_refused_with_the_way_out(text, facts):
    refused(lambda: task_numbers(text, 5), facts, InputError)
