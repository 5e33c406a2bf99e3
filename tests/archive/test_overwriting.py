"""An archive is written whole or not at all, and nothing of the user's is lost under it."""

from __future__ import annotations

from pathlib import Path

import pytest
from error_facts import require_facts

from aot.errors import OutputError
from artifact.archive import read_archive, write_archive
from artifact.artifact import artifact_of
from codegen.model import CompiledModel


def refusal(model: CompiledModel, path: Path) -> str:
    with pytest.raises(OutputError) as caught:
        write_archive(artifact_of(model), path)
    return str(caught.value).replace(f"{path.parent}/", "")


def test_an_earlier_archive_is_replaced(compiled: CompiledModel, archive_path: Path) -> None:
    write_archive(artifact_of(compiled), archive_path)
    assert read_archive(archive_path).runtime == {}


def test_a_damaged_earlier_archive_is_replaced(compiled: CompiledModel, archive_path: Path) -> None:
    data = archive_path.read_bytes()
    archive_path.write_bytes(data[: len(data) * 2 // 3])
    write_archive(artifact_of(compiled), archive_path)
    assert read_archive(archive_path).name == "residual"


def test_an_empty_file_is_replaced(compiled: CompiledModel, tmp_path: Path) -> None:
    (tmp_path / "x.tar").touch()
    write_archive(artifact_of(compiled), tmp_path / "x.tar")
    assert read_archive(tmp_path / "x.tar").name == "residual"


@pytest.mark.parametrize("data", [b"my thesis", b"TFL3" * 300, bytes(1024)])
def test_another_file_is_kept(data: bytes, compiled: CompiledModel, tmp_path: Path) -> None:
    (tmp_path / "x.tar").write_bytes(data)
    require_facts(refusal(compiled, tmp_path / "x.tar"), "Solder file exists archive x.tar another remove")
    assert (tmp_path / "x.tar").read_bytes() == data


def test_a_folder_of_that_name_is_kept(compiled: CompiledModel, tmp_path: Path) -> None:
    (tmp_path / "x.tar").mkdir()
    require_facts(refusal(compiled, tmp_path / "x.tar"), "archive written folder x.tar")


def test_a_folder_that_is_not_there_is_named(compiled: CompiledModel, tmp_path: Path) -> None:
    require_facts(
        refusal(compiled, tmp_path / "no" / "x.tar"),
        f"No archive written such x.tar {tmp_path / 'no'} create folder",
    )


def test_a_link_stays_a_link(compiled: CompiledModel, archive_path: Path, tmp_path: Path) -> None:
    link = tmp_path / "latest.tar"
    link.symlink_to(archive_path.name)
    write_archive(artifact_of(compiled), link)
    assert link.is_symlink()
    assert read_archive(archive_path).runtime == {}


def test_a_failure_leaves_the_earlier_archive_and_nothing_else(
    compiled: CompiledModel, archive_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", no_space)
    require_facts(refusal(compiled, archive_path), "No archive written space residual.tar elsewhere")
    assert list(archive_path.parent.iterdir()) == [archive_path]
    assert read_archive(archive_path).runtime != {}


def test_others_may_read_the_archive(archive_path: Path) -> None:
    assert archive_path.stat().st_mode & 0o777 == 0o644
