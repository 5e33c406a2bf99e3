"""A package in a folder of its own, installed by pip, adds one of each thing, and the tree stays as it is."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import helper
from onnx_files import onnx_file

pytestmark = [pytest.mark.slow, pytest.mark.cc]
PACKAGE = Path(__file__).parent / "package"
SHAPE = (1, 11)  # two fours, and three over


@pytest.fixture(scope="module")
def site(tmp_path_factory, require_package):
    """The folder into which pip has put the package."""
    require_package("pip", "hatchling")
    folder = tmp_path_factory.mktemp("site")
    words = ["install", "--quiet", "--no-deps", "--no-build-isolation", "--target", str(folder), str(PACKAGE)]
    subprocess.run([sys.executable, "-m", "pip", *words, "--disable-pip-version-check"], check=True)
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Medians and a maximum; one median reads a tensor twice."""
    names = ("a", "b", "c")
    inputs = dict.fromkeys(names, np.zeros(SHAPE, np.int8))
    nodes = [
        helper.make_node("Median", names, ["middle"], "three", domain="com.example"),
        helper.make_node("Median", ("middle", "a", "middle"), ["same"], "twice", domain="com.example"),
        helper.make_node("Max", ("same", "b"), ["y"], "largest"),
    ]
    path = tmp_path_factory.mktemp("model") / "medians.onnx"
    path.write_bytes(onnx_file(nodes, inputs, {"y": inputs["a"]}))
    return path


@pytest.fixture
def deploy(site, repo_root, tmp_path):
    """The command in an environment that has the package."""

    def run(*words: object, has_package: bool = True) -> subprocess.CompletedProcess[str]:
        paths = [str(repo_root), *([str(site)] if has_package else [])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "XDG_CACHE_HOME": str(tmp_path)}
        command = [sys.executable, "-m", "deploy", *map(str, words)]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    return run


def test_without_the_package_nothing_of_it_is_known(deploy, model):
    done = deploy("inspect", model, has_package=False)
    assert (done.returncode, "com.example.Median is not supported" in done.stderr) == (1, True)


def test_op_pass_schedule_board_and_platform_serve_one_compile(deploy, model, tmp_path):
    archive = tmp_path / "medians.tar"
    done = deploy("compile", model, "--board", "quad-board", "-o", archive)
    assert done.returncode == 0, done.stderr
    facts = json.loads(deploy("inspect", archive, "--json").stdout)
    kernels = [(layer["op"], layer["kernel"]) for layer in facts["layers"]]
    assert kernels == [("median", "plain"), ("combine", "quad")], "one of two medians is of equals"
    explained = deploy("inspect", model, "--board", "quad-board", "--explain", "median-of-equals")
    assert explained.returncode == 0, explained.stderr


def test_its_accelerator_is_listed_and_asked_for_by_name(deploy, model):
    listed = deploy("accelerators").stdout.splitlines()
    assert ["larger", "combine", "maxima", "of", "two", "tensors"] in [line.split() for line in listed]
    words = (model, "--board", "quad-board", "--accelerator", "larger")
    facts = json.loads(deploy("inspect", *words, "--json").stdout)
    assert [layer["kernel"] for layer in facts["layers"] if layer["op"] == "combine"] == ["larger"]
    done = deploy("verify", *words)
    assert "outputs equal to the reference in every bit" in done.stdout, done.stdout + done.stderr


def test_firmware_of_the_package_s_platform_gives_the_reference_s_bits(deploy, model):
    done = deploy("verify", model, "--board", "quad-board")
    assert "outputs equal to the reference in every bit" in done.stdout, done.stdout + done.stderr


def test_outputs_are_medians_and_maxima(deploy, model, tmp_path):
    chance = np.random.default_rng(4)
    a, b, c = (chance.integers(-128, 128, SHAPE).astype(np.int8) for _ in range(3))
    np.savez(tmp_path / "in.npz", a=a, b=b, c=c)
    outputs = tmp_path / "out.npz"
    done = deploy("run", model, "--board", "quad-board", "--inputs", tmp_path / "in.npz", "--output", outputs)
    assert done.returncode == 0, done.stderr
    (made,) = np.load(outputs).values()
    assert np.array_equal(made.reshape(SHAPE), np.maximum(np.median([a, b, c], axis=0).astype(np.int8), b))


def test_its_schedule_of_layers_is_taken_first(deploy, repo_root):
    words = ("inspect", repo_root / "deploy" / "demo" / "digits.tflite", "--board", "host", "--json")
    found = [
        {
            layer["op"]: layer["kernel"]
            for layer in json.loads(deploy(*words, has_package=has).stdout)["layers"]
        }
        for has in (True, False)
    ]
    assert [kernels["max_pool2d"] for kernels in found] == ["in_fours", "plain"]


def test_its_channel_is_one_of_those_to_export_for(deploy, repo_root, tmp_path):
    digits = repo_root / "deploy" / "demo" / "digits.tflite"
    done = deploy("export", digits, "--board", "host", "--as", "one-line", "-o", tmp_path / "made")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "made" / "line.txt").read_text() == "digits 1.0.0\n"
