"""Zephyr's own C library has no functions of floats: applications whose models call some say so."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from op_case import OpCase, float32, int8, op_case
from tiny_models import TINY

import deploy
from aot.ops.combine import Combination, Combine
from aot.ops.unary import Logistic, Tanh
from aot.ops.unary_math import FLOAT_FUNCTIONS, MathFunction, UnaryMath
from artifact.archive import read_archive, write_archive
from artifact.artifact import Artifact, artifact_of
from artifact.facts import ModelFacts, decode, encode
from codegen.compile import compile_job
from codegen.job import ImportedModel, Job, read_job
from codegen.options import CompileOptions
from deploy import lang
from platforms.board_files import load_board
from platforms.project import App, ProjectSource, project_source, share_firmware
from platforms.zephyr import PLATFORM

BOARD = load_board("nucleo-l476rg")
PAIRS = (
    Combination.FLOOR_DIV,
    Combination.FLOOR_MOD,
    Combination.REMAINDER,
    Combination.POWER,
    Combination.ATAN2,
)
X = float32(1, 2, 3, 5)


def asks_for_a_full_library(source: ProjectSource) -> bool:
    return "CONFIG_REQUIRES_FULL_LIBC=y\n" in PLATFORM.files(source, BOARD, App.RPC)["prj.conf"]


def compiled(case: OpCase, approximate: bool = False) -> Artifact:
    model = ImportedModel(case.graph, "case.tflite", "00" * 32, "model")
    return artifact_of(compile_job(Job(model, BOARD.target, CompileOptions(approximate=approximate))))


def classifier(folder: Path) -> Artifact:
    (folder / "classifier.tflite").write_bytes(TINY["classifier"]())
    return artifact_of(compile_job(read_job(folder / "classifier.tflite", BOARD.target, CompileOptions())))


@pytest.mark.parametrize(
    "case",
    [
        *(op_case(f.value, UnaryMath(f), [X], float32()) for f in FLOAT_FUNCTIONS),
        *(op_case(by.value, Combine(by), [X, X], float32()) for by in PAIRS),
        op_case("logistic", Logistic(), [X], float32()),
        op_case("tanh", Tanh(), [X], float32()),
    ],
    ids=lambda case: case.name,
)
def test_functions_of_real_numbers_need_it(case):
    """Acos, Asin, Sinh, Tan and six others did not, and could not be linked."""
    assert asks_for_a_full_library(project_source(compiled(case)))


def test_polynomials_in_their_place_need_its_infinity():
    case = op_case("exp", UnaryMath(MathFunction.EXP), [X], float32())
    assert asks_for_a_full_library(project_source(compiled(case, approximate=True)))


def test_constants_without_end_are_its_macros():
    asked = []
    for last in (1, np.inf):
        graph = deploy.graph("sums")
        weights = np.asarray([0, 1, 2, last], np.float32)
        graph.output(graph.input("x", (4,)) + weights, "sum")
        made = deploy.compile(graph.model(), board=BOARD.name)
        asked.append(asks_for_a_full_library(project_source(made.artifact)))
    assert asked == [False, True]


def test_tables_of_integers_need_none(tmp_path):
    table = op_case("acos", UnaryMath(MathFunction.EXP), [int8(1, 2, 3, 5)], int8(scale=0.04))
    assert not asks_for_a_full_library(project_source(compiled(table)))
    assert not asks_for_a_full_library(project_source(classifier(tmp_path)))


@pytest.mark.parametrize("function", [MathFunction.ACOS, MathFunction.ABS])
def test_an_archive_says_it(function, tmp_path):
    made = compiled(op_case("curve", UnaryMath(function), [X], float32()))
    write_archive(made, tmp_path / "m.tar")
    assert asks_for_a_full_library(project_source(read_archive(tmp_path / "m.tar")))
    write_archive(classifier(tmp_path), tmp_path / "c.tar")
    assert not asks_for_a_full_library(project_source(read_archive(tmp_path / "c.tar")))


def test_an_archive_from_before_archives_said_it_may_need_it(tmp_path):
    facts = encode(classifier(tmp_path).facts)
    del facts["c_headers"]
    older = decode(ModelFacts, facts)
    source = project_source(replace(classifier(tmp_path), facts=older))
    assert asks_for_a_full_library(source)


def test_a_users_function_may_include_it_itself():
    c = "#include <math.h>\nstatic inline float curve(float v)\n{\n    return sinhf(v);\n}\n"
    curve = lang.function("curve", "f32", c, np.sinh)
    x = lang.placeholder("x", (4,), "f32")
    built = lang.build(lang.proc("curves", [x], lang.compute("y", (4,), lambda i: curve(x[i]))), BOARD.name)
    assert asks_for_a_full_library(project_source(built.compiled.artifact))


def test_one_model_of_several_is_enough(tmp_path):
    integers = project_source(classifier(tmp_path))
    floats = project_source(compiled(op_case("acos", UnaryMath(MathFunction.ACOS), [X], float32())))
    assert asks_for_a_full_library(share_firmware(integers, [floats]))
    assert not asks_for_a_full_library(share_firmware(integers, []))
