"""What was compiled comes back from its archive, and other readers of the format find what they know."""

import json
import tarfile
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from error_facts import refused

from aot.errors import OutputError
from aot.interpret import run_graph
from aot.ir.text import print_graph
from artifact.archive import is_archive, read_archive, write_archive
from artifact.artifact import artifact_of
from codegen.c.emit import SourceParts
from codegen.compile import compile_job
from codegen.job import ImportedModel, Job

RUNTIME = {"solder_model.h": b"/* what a model says of itself */\n"}  # of archive_path


def metadata_of(path: Path) -> Any:
    with tarfile.open(path, "r:") as tar:
        stream = tar.extractfile("./metadata.json")
        assert stream is not None
        return json.load(stream)


def test_what_is_read_is_what_was_compiled(compiled, archive_path):
    """Facts, C files, graph and runtime; a file that differs is seen."""
    read = read_archive(archive_path)
    assert read == artifact_of(compiled, RUNTIME)
    assert read != artifact_of(compiled, {"solder_model.h": b"/* another */\n"})
    assert read.facts.arena_bytes == compiled.plan.arena_bytes


def test_no_c_is_written_before_it_is_asked_for(compiled, monkeypatch):
    def emit_sources(parts: SourceParts) -> Mapping[str, str]:
        raise AssertionError("C was written")

    monkeypatch.setattr("codegen.compile.emit_sources", emit_sources)
    lazy = artifact_of(replace(compiled))
    assert lazy.facts.name == "residual"
    with pytest.raises(AssertionError, match="C was written"):
        _ = lazy.sources


def test_sources_headers_and_runtime_are_told_apart(compiled, archive_path):
    archive = read_archive(archive_path)
    assert {**archive.sources, **archive.headers} == compiled.sources
    assert sorted(archive.sources) == ["residual.c", "residual_describe.c", "residual_weights.c"]
    assert sorted(archive.headers) == ["residual.h", "residual_weights.h"]
    assert archive.runtime == {"solder_model.h": b"/* what a model says of itself */\n"}


def test_the_graph_comes_back_and_runs(compiled, archive_path):
    archive = read_archive(archive_path)
    graph = archive.graph
    assert archive.graph_text == print_graph(graph) == print_graph(compiled.graph)
    image = np.random.default_rng(0).integers(-128, 128, (1, 8, 8, 4), np.int8)
    again, first = run_graph(graph, {"image": image}), run_graph(compiled.graph, {"image": image})
    assert {n: a.tolist() for n, a in again.items()} == {n: a.tolist() for n, a in first.items()}


def test_the_graph_before_all_passes_comes_back_and_gives_the_same_c(compiled, archive_path):
    archive = read_archive(archive_path)
    assert print_graph(archive.imported) == print_graph(compiled.planned.job.model.graph)
    facts = archive.facts
    model = ImportedModel(archive.imported, facts.source_name, facts.model_hash, facts.name)
    again = artifact_of(compile_job(Job(model, facts.target, facts.options, board=facts.board)), RUNTIME)
    assert again == archive


def test_files_lie_where_the_format_has_them(archive_path):
    with tarfile.open(archive_path, "r:") as tar:
        assert tar.getnames() == [
            "./metadata.json",
            "./codegen/host/include/residual.h",
            "./codegen/host/include/residual_weights.h",
            "./codegen/host/src/residual.c",
            "./codegen/host/src/residual_describe.c",
            "./codegen/host/src/residual_weights.c",
            "./parameters/residual.imported.params",
            "./parameters/residual.params",
            "./runtime/solder_model.h",
            "./src/residual.graph",
            "./src/residual.imported.graph",
        ]


def test_the_keys_that_tvm_reads_are_there(compiled, archive_path):
    metadata = metadata_of(archive_path)
    ((name, module),) = metadata["modules"].items()
    (main,) = module["memory"]["functions"]["main"]
    operators = module["memory"]["functions"]["operator_functions"]
    assert (metadata["version"], name, module["model_name"]) == (7, "residual", "residual")
    assert (module["executors"], module["style"]) == (["aot"], "full-model")
    assert module["target"] == ["c -keys=cpu -mcpu=cortex-m4"]
    assert datetime.strptime(module["export_datetime"], "%Y-%m-%d %H:%M:%SZ").year == 1970
    assert module["external_dependencies"][0]["url"] == "./runtime"
    assert module["external_dependencies"][0]["url_type"] == "mlf_path"
    assert main["workspace_size_bytes"] == compiled.plan.arena_bytes
    assert main["constants_size_bytes"] == compiled.constants.bytes
    assert main["io_size_bytes"] == 2 * 8 * 8 * 4
    assert main["inputs"] == {"image": {"size": 256, "dtype": "int8"}}
    assert list(main["outputs"].values()) == [{"size": 256, "dtype": "int8"}]
    assert [o["function_name"] for o in operators] == [layer.function for layer in compiled.layers]
    assert [layer.function for layer in compiled.layers][:2] == ["copy_image_pixels16", "conv2d_0"]
    assert all(o["workspace"][0].keys() == {"device", "workspace_size_bytes"} for o in operators)


def test_what_the_format_lacks_is_under_our_own_key(archive_path):
    ours = metadata_of(archive_path)["solder"]
    (tensor,) = ours["inputs"]
    assert (tensor["layout"], tensor["type"]["shape"]) == ("NHWC", [1, 8, 8, 4])
    assert tensor["type"]["quant"]["zero_points"] == [0]
    assert ours["target"]["features"] == ["dsp", "fpu", "unaligned"]
    assert len(ours["files"]) == 10
    assert {"offset", "row_bytes", "rows", "rows_held", "first_step", "last_step"} <= ours["memory"][
        "buffers"
    ][0].keys()


def test_an_archive_without_runtime_depends_on_none(compiled, tmp_path):
    write_archive(artifact_of(compiled), tmp_path / "x.tar")
    assert metadata_of(tmp_path / "x.tar")["modules"]["residual"]["external_dependencies"] == []
    assert read_archive(tmp_path / "x.tar").runtime == {}


def test_an_archive_unpacked_and_packed_again_is_still_one(archive_path, tmp_path):
    """With folders as entries, and without ./ before the names."""
    with tarfile.open(archive_path, "r:") as tar:
        for info in tar:
            stream = tar.extractfile(info)
            assert stream is not None
            (tmp_path / "x" / info.name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "x" / info.name).write_bytes(stream.read())
    with tarfile.open(tmp_path / "again.tar", "w") as tar:
        for part in sorted((tmp_path / "x").iterdir()):
            tar.add(part, part.name)
    assert read_archive(tmp_path / "again.tar") == read_archive(archive_path)


def test_an_archive_is_distinguished_from_a_model(archive_path, tmp_path):
    (tmp_path / "model.tflite").write_bytes(b"\x1c\0\0\0TFL3" + bytes(600))
    assert is_archive(archive_path)
    assert not is_archive(tmp_path / "model.tflite")
    assert not is_archive(tmp_path)
    assert not is_archive(tmp_path / "nowhere.tar")


def test_the_date_is_source_date_epoch(compiled, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    write_archive(artifact_of(compiled), tmp_path / "x.tar")
    with tarfile.open(tmp_path / "x.tar", "r:") as tar:
        assert {info.mtime for info in tar} == {1_700_000_000}
    assert metadata_of(tmp_path / "x.tar")["modules"]["residual"]["export_datetime"] == "2023-11-14 22:13:20Z"


@pytest.mark.parametrize("value", ["yesterday", "-1", "1.5", "", "8589934592"])
def test_a_date_that_is_none_is_refused(value, compiled, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", value)
    refused(
        lambda: write_archive(artifact_of(compiled), tmp_path / "x.tar"),
        f"SOURCE_DATE_EPOCH 1970 8589934591 {value!r} must number seconds -1 --format=%ct`",
        OutputError,
    )
    assert not (tmp_path / "x.tar").exists()
