"""Constants by memory: layers are named by kind, name or number, and each rule must name some."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from graphs import Draft
from model_checks import DSP
from tiny_models import TINY

from aot.errors import BoardError, DeployError, InputError
from aot.frontend.load import load_model
from aot.ir.graph import Graph
from aot.target import MemoryRegion, Target
from artifact.facts import facts_of
from artifact.report import make_report
from codegen.compile import compile_job
from codegen.compile_kinds import ConstantRule
from codegen.job import ImportedModel, Job
from codegen.model import CompiledModel
from codegen.options import CompileOptions

REGIONS = (
    MemoryRegion("FLASH", 0, 1 << 20, "flash"),
    MemoryRegion("QSPI", 1 << 28, 1 << 24, "flash", speed=1),
    MemoryRegion("ITCM", 1 << 29, 1 << 16, "ram"),
)
TARGET = Target("host", regions=REGIONS, pointer_bytes=8)


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    path = tmp_path / "classifier.tflite"
    path.write_bytes(TINY["classifier"]())
    return load_model(path)


def placed(graph: Graph, *rules: tuple[str, str], target: Target = TARGET) -> CompiledModel:
    options = CompileOptions(constants=tuple(ConstantRule(*rule) for rule in rules))
    return compile_job(Job(ImportedModel(graph, "t", "0" * 64, "net"), target, options))


def in_sections(model: CompiledModel) -> dict[str, set[str]]:
    """Region -> layers whose weights are defined there."""
    found: dict[str, set[str]] = {}
    for line in model.sources["net_weights.c"].splitlines():
        if line.startswith("CONSTANT") and "_w[" in line:
            region = line.split("(")[1].split(")")[0] if line.startswith("CONSTANT_IN") else ""
            found.setdefault(region, set()).add(line.split("net_")[1].split("_w[")[0])
    return found


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ((), {"": {"conv2d_0", "dense_3"}}),
        ((("conv2d", "ITCM"),), {"ITCM": {"conv2d_0"}, "": {"dense_3"}}),
        ((("layer3", "QSPI"),), {"QSPI": {"dense_3"}, "": {"conv2d_0"}}),
        ((("conv*", "ITCM"), ("*", "QSPI")), {"ITCM": {"conv2d_0"}, "QSPI": {"dense_3"}}),
    ],
)
def test_the_first_rule_that_names_a_layer_counts(
    rules: tuple[tuple[str, str], ...], expected: dict[str, set[str]], graph: Graph
) -> None:
    assert in_sections(placed(graph, *rules)) == expected


def test_without_rules_no_section_is_spoken_of(graph: Graph) -> None:
    assert "section" not in placed(graph).sources["net_weights.c"]


def test_what_lies_elsewhere_is_counted_there(graph: Graph) -> None:
    alone, model = placed(graph), placed(graph, ("conv2d", "ITCM"), ("dense", "QSPI"))
    itcm, qspi = model.constants_in["ITCM"], model.constants_in["QSPI"]
    assert model.constants_bytes == alone.constants_bytes == itcm + qspi + _rest(model)
    uses = {use.region.name: dict(use.parts) for use in make_report(facts_of(model)).memory}
    assert uses["ITCM"]["constants in ITCM"] == itcm
    assert uses["QSPI"] == {"constants in QSPI": qspi}
    assert uses["FLASH"]["constants"] == itcm + _rest(model), "what RAM is filled with comes from flash"


def _rest(model: CompiledModel) -> int:
    return model.constants_bytes - sum(model.constants_in.values())


@pytest.mark.parametrize(
    ("rule", "target", "kind", "says"),
    [
        (
            ("dense", "QSPY"),
            TARGET,
            BoardError,
            'error: "QSPY" is not a memory of this board - did you mean "QSPI"?\n'
            "  hint: --constants accepts: FLASH, QSPI, ITCM",
        ),
        (
            ("softmax", "QSPI"),
            TARGET,
            InputError,
            'error: no layer with constants is called "softmax"\n  layers with constants: conv2d, dense\n'
            "  hint: give an op, a layer's name or layer3, with * as a wildcard; deploy inspect MODEL "
            "--layers lists them",
        ),
        (
            ("dense", "RAM"),
            Target("avr", regions=REGIONS, constant_space="__flash"),
            BoardError,
            "error: the constants of this board's core must be in flash",
        ),
    ],
)
def test_a_rule_that_cannot_be_kept_is_reported(
    rule: tuple[str, str], target: Target, kind: type[DeployError], says: str, graph: Graph
) -> None:
    with pytest.raises(kind) as refused:
        placed(graph, rule, target=target)
    assert str(refused.value) == says


def test_constants_whose_memory_is_named_are_stored_as_they_are() -> None:
    """Winograd's are transformed where their place is free: 16 half words take the place of nine bytes."""
    d = Draft()
    wide = d.graph(d.conv("y", d.input("x", 1, 8, 8, 32), 8))
    core = replace(DSP, regions=REGIONS)
    assert weight_bytes(placed(wide, target=core)) == 8 * (32 * 16 * 2 + 9)
    assert weight_bytes(placed(wide, ("conv2d", "QSPI"), target=core)) == 8 * (32 * 9 + 9)


def weight_bytes(model: CompiledModel) -> int:
    return sum(layer.weight_bytes for layer in model.layers)
