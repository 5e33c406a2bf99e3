"""MLPerf's keyword spotting from 16-bit samples to the class: here, and on an emulated Cortex-M4."""

import wave
from pathlib import Path

import numpy as np
import pytest
from error_facts import require_facts

import deploy
from deploy.inputs.recordings import read_wav

# As the model's training code declares it; there samples are divided by the largest of the clip.
FRONT = (
    "tf.signal.mfcc:sample_rate=16000,samples=16000,frame_length=480,frame_step=320,num_mel_bins=40,"
    "lower_edge_hertz=20,upper_edge_hertz=4000,num_mfccs=10"
)
AS_TRAINED = f"{FRONT},divide_by=max"
CLASSES = ["down", "go", "left", "no", "off", "on", "right", "stop", "up", "yes", "silence", "unknown"]
# What the model says of the clips, by features that TensorFlow computed: it takes this "no" for a "go".
ANSWERS = {"yes": "yes", "no": "go", "noise": "unknown", "silence": "silence"}


@pytest.fixture(scope="module")
def network(shared_dir):
    return shared_dir / "models" / "tiny_kws_dscnn_int8" / "model.tflite"


def clip(shared_dir: Path, word: str) -> Path:
    return shared_dir / "datasets" / f"{word}_1000ms.wav"


def test_the_reference_hears_words(network, shared_dir):
    model = deploy.load(network, front=AS_TRAINED)
    clips = np.stack([read_wav(clip(shared_dir, word), 16000) for word in ANSWERS])
    (scores,) = model.run(clips).values()
    found = [CLASSES[int(each.argmax())] for each in scores]
    assert dict(zip(ANSWERS, found, strict=True)) == ANSWERS


@pytest.mark.cc
@pytest.mark.slow
def test_this_computer_computes_every_layer_like_the_reference(network, shared_dir):
    clips = np.stack([read_wav(clip(shared_dir, word), 16000) for word in ANSWERS])
    verdict = deploy.verify(network, board="host", front=AS_TRAINED, inputs=clips, layers=True)
    assert verdict.equal, str(verdict)


@pytest.mark.slow
def test_samples_that_are_streamed_take_no_memory_of_the_network(network):
    alone = deploy.compile(network, board="nucleo-l4r5zi")
    whole = deploy.compile(network, board="nucleo-l4r5zi", front=FRONT, stream=True)
    assert whole.arena_bytes == alone.arena_bytes


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
def test_an_emulated_cortex_m4_decides_in_a_stream(network, shared_dir, own_folders):
    heard = ["yes", "yes", "yes", "noise", "yes", "yes"]
    clips = np.stack([read_wav(clip(shared_dir, word), 16000) for word in heard])
    back = "classes:average=2,threshold=0.7,hold=1"
    model = deploy.load(network, front=FRONT, back=back)
    ran = deploy.run(model, clips, board="mps2-an386", stream=True, runner="qemu")
    decided, scores = (array.reshape(-1) for array in ran.outputs.values())
    names = ["" if number < 0 else CLASSES[number] for number in decided.tolist()]
    # The first clip has none before it, the third comes too soon, and the noise is half of two averages.
    assert names == ["", "yes", "", "", "", "yes"]
    wanted, exact = (array.reshape(-1) for array in model.run(clips).values())
    assert np.array_equal(decided, wanted)
    assert np.allclose(scores, exact, atol=1e-6)


@pytest.mark.slow
def test_a_file_of_another_rate_is_refused_before_anything_is_built(network, tmp_path, run_deploy):
    path = tmp_path / "in.wav"
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
        file.writeframes(bytes(32000))
    outcome = run_deploy("run", network, "--board", "host", "--front", FRONT, "--inputs", path)
    assert outcome.status == 1
    require_facts(outcome.err, f"8000 16000 file samples second {path} in.wav 1 16 out.wav convert example")
