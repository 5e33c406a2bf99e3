"""Right with data: labels and expected outputs, inputs that nobody has, the largest outputs of a run."""

import json

import numpy as np
import pytest
from error_facts import require_facts

import deploy
from aot.errors import InputError
from aot.ir.tensor_spec import TensorSpec
from aot.ir.types import DType, Quant, TensorType
from deploy.inputs.input_options import DataOptions, Fill, make_data
from deploy.verification.quality import accuracy_of, distances_to

CLASSES = 5
IMAGES = np.random.default_rng(0).integers(-128, 128, (6, 8, 8, 1)).astype(np.int8)


@pytest.fixture
def found(model):
    """What the model says of IMAGES."""
    (outputs,) = deploy.load(model).run(IMAGES).values()
    return outputs


@pytest.fixture
def data(tmp_path):
    np.savez(tmp_path / "x.npz", image=IMAGES)
    return tmp_path / "x.npz"


@pytest.mark.cc
def test_labels_give_accuracy_and_confusion(model, data, found, tmp_path, run_deploy):
    labels = found.argmax(axis=1)
    labels[0] = (labels[0] + 1) % CLASSES
    np.save(tmp_path / "y.npy", labels)
    words = ("verify", model, "--board", "host", "--inputs", data, "--labels", tmp_path / "y.npy")
    outcome = run_deploy(*words)
    assert outcome.status == 0, outcome.err
    assert "accuracy  83.33% on the board, 83.33% by the reference" in outcome.out
    assert "(columns: class on the board)" in outcome.out
    facts = json.loads(run_deploy(*words, "--json").out)["accuracy"]
    assert sum(each["samples"] for each in facts["confusion"]) == len(IMAGES)
    wrong = [each for each in facts["confusion"] if each["label"] != each["board"]]
    assert wrong == [{"label": int(labels[0]), "board": int(found[0].argmax()), "samples": 1}]


@pytest.mark.cc
def test_expected_outputs_give_distances(model, data, found, tmp_path, run_deploy):
    wanted = found.astype(np.int32)
    wanted[0, 0] += 6
    np.savez(tmp_path / "z.npz", output_0=wanted)
    words = ("verify", model, "--board", "host", "--inputs", data, "--expected", tmp_path / "z.npz")
    assert "RMSE" in run_deploy(*words).out
    (facts,) = json.loads(run_deploy(*words, "--json").out)["expected"]
    assert facts["largest"] == 6
    assert facts["mae"] == pytest.approx(6 / found.size)
    assert facts["rmse"] == pytest.approx(6 / found.size**0.5)
    assert 0.99 < facts["cosine"] < 1


@pytest.mark.cc
def test_python_takes_both_as_arrays(model, found, own_folders):
    (name,) = deploy.load(model).outputs
    labels = found.argmax(axis=1)
    verdict = deploy.verify(model, "host", IMAGES, labels=labels, expected={name: found})
    assert verdict.accuracy is not None
    assert verdict.accuracy.board == 1
    assert [distance.largest for distance in verdict.distances] == [0]


def test_expected_floats_are_compared_with_what_integers_mean():
    spec = TensorSpec("y", TensorType(DType.I8, (1, 2), Quant((0.5,), (-1,))))
    stored = [(np.array([[3, -1]], np.int8),)]
    (distance,) = distances_to({"y": np.array([[2.0, 0.25]])}, stored, [spec])
    assert (distance.largest, distance.mae) == (0.25, 0.125)


def test_many_classes_are_shown_by_their_mistakes():
    classes = np.arange(40)
    outputs = [(np.eye(40)[[each]],) for each in classes]
    said = str(accuracy_of(np.roll(classes, 1), outputs, outputs))
    assert said.startswith("accuracy  0.00% on the board")
    assert max(map(len, said.splitlines())) < 80


def test_labels_that_do_not_belong_to_the_samples(model, data, tmp_path, run_deploy):
    np.save(tmp_path / "y.npy", np.zeros(4, np.int64))
    words = ("verify", model, "--board", "host", "--inputs", data, "--labels")
    require_facts(run_deploy(*words, tmp_path / "y.npy").err, "int64[4] 6 labels there samples class number")
    require_facts(run_deploy(*words, data).err, f'"labels" file labels {data} "image" holds')
    (tmp_path / "text.npy").write_text("1 2 3")
    assert "not an .npy file of plain numbers" in run_deploy(*words, tmp_path / "text.npy").err
    assert "No such file" in run_deploy(*words, tmp_path / "none.npy").err


def test_expected_outputs_that_the_model_has_not(model, data, tmp_path, run_deploy):
    words = ("verify", model, "--board", "host", "--inputs", data, "--expected", tmp_path / "z.npz")
    np.savez(tmp_path / "z.npz", output_1=np.zeros((6, 5)))
    assert 'the model has no output "output_1" - did you mean "output_0"?' in run_deploy(*words).err
    np.savez(tmp_path / "z.npz", output_0=np.zeros((5, 5)))
    assert '"output_0" is expected with shape [5, 5]; for 6 samples' in run_deploy(*words).err


@pytest.mark.cc
@pytest.mark.parametrize("fill", ["random", "zeros"])
def test_a_run_without_inputs_prints_the_largest_outputs(fill, model, run_deploy, tmp_path):
    outcome = run_deploy("run", model, "--board", "host", "--fill", fill, "--print-top", 2)
    assert outcome.status == 0, outcome.err
    (line,) = [line for line in outcome.out.splitlines() if line.startswith("sample 0  ")]
    assert line.count("[") == 2
    assert len(line) < 80


@pytest.mark.cc
def test_outputs_in_a_file_are_reported_by_name(model, data, tmp_path, run_deploy):
    words = ("run", model, "--board", "host", "--inputs", data, "--output", tmp_path / "o.npz")
    (name,) = deploy.load(model).outputs
    said = run_deploy(*words).out
    assert f'o.npz; output_0 is "{name}"' in said
    assert "sample 0" not in said
    facts = json.loads(run_deploy(*words, "--print-top", 3, "--json").out)
    assert [len(each[0]["largest"]) for each in facts["largest"]] == [3] * 6


@pytest.mark.cc
def test_floats_are_quantised_on_request(model, own_folders):
    (kind,) = deploy.load(model).inputs.values()
    assert kind.quant is not None
    floats = kind.quant.scale * (IMAGES.astype(np.float64) - kind.quant.zero_point)
    result = deploy.run(model, floats, "host", quantize=True)
    (outputs,), (expected,) = result.outputs.values(), deploy.load(model).run(IMAGES).values()
    np.testing.assert_array_equal(outputs, expected)


def test_a_run_needs_inputs_or_what_fills_them(model, data, run_deploy):
    require_facts(run_deploy("run", model, "--board", "host").err, "inputs --inputs IN.npz --fill")
    both = run_deploy("run", model, "--board", "host", "--inputs", data, "--fill", "zeros")
    assert both.err.startswith("error: --inputs and --fill zeros exclude each other\n")


def test_integers_without_a_scale_are_not_guessed():
    spec = TensorSpec("x", TensorType(DType.I8, (1, 2)))
    with pytest.raises(InputError, match='input "x" has no scale'):
        make_data({"x": np.zeros((1, 2))}, DataOptions(None, True), [spec], 1)
    zeros = make_data(None, DataOptions(Fill.ZEROS), [spec], 2)
    assert len(zeros) == 2
