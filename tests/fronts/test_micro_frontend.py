"""micro_frontend: tables, options, C row by row; transforms of any length; stored results of libraries."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from error_facts import refused
from front_cases import CASES, signal
from library_bounds import BOUND, STORED, distance, features, negating
from tflite_builder import ModelBuilder
from tiny_models import random_weights

import deploy
from aot.errors import ModelError
from aot.frontend.declared import DeclarationError
from aot.frontend.tflite.read import read_tflite
from aot.fronts.attach import declared_front, read_front, with_front
from aot.fronts.spectrum import IntegerFeatures
from aot.interpret import run_graph, run_series
from aot.ir.types import Array, DType, TensorType
from deploy.inputs.recordings import read_wav

WORDS = "micro_frontend:window_size=30,num_channels=40,enable_pcan=true"
FRAMES = 23


def tables() -> IntegerFeatures:
    found = declared_front(WORDS)
    assert isinstance(found, IntegerFeatures)
    return found


def tables_of_tflite(shared_dir: Path) -> dict[str, list[Array]]:
    """The constants of the file's nodes, by the name of their op."""
    path = shared_dir / "models" / "tflm_audio_preproc_f32" / "model.tflite"
    graph = read_tflite(path.read_bytes(), path.name, "tflm")
    return {
        node.op.name: [
            graph.constants[name] for name in node.inputs if name is not None and name in graph.constants
        ]
        for node in graph.nodes
    }


def test_the_tables_are_those_of_tflites_own_front_end(shared_dir):
    """Its file was made in double precision: a step at the window's edge and of weights may be missing."""
    theirs, mine = tables_of_tflite(shared_dir), tables()
    assert mine.gain is not None
    assert np.array_equal(theirs["gain_control"][0], mine.gain.gains)
    distance = np.abs(theirs["window"][0].astype(np.float64) - mine.frames.window)
    assert np.array_equal(distance[distance > 0], [1.0])
    first, weights = (array.astype(np.int64) for array in theirs["filter_bank"])
    for row, begin, part in zip(mine.filters, first.tolist(), weights, strict=True):
        assert np.abs(row[begin : begin + len(part)] - part).max() <= 1
        assert row.sum() == row[begin : begin + len(part)].sum()


@pytest.mark.parametrize(
    "other",
    [
        "window_size=20",
        "window_step=20",
        "lower_band_limit=300",
        "upper_band_limit=4000",
        "smoothing_bits=8",
        "even_smoothing=0.5",
        "odd_smoothing=0.5",
        "min_signal_remaining=0.9",
        "enable_pcan=false",
        "pcan_strength=0.5",
        "pcan_offset=800",
        "gain_bits=20",
        "enable_log=false",
        "scale_shift=5",
        "out_scale=2",
    ],
)
def test_each_word_counts(other):
    name = other.partition("=")[0]
    kept = [word for word in WORDS.partition(":")[2].split(",") if not word.startswith(f"{name}=")]
    found, usual = features(f"micro_frontend:{','.join([*kept, other])}"), features(WORDS)
    assert found.shape != usual.shape or not np.array_equal(found, usual)


def test_without_a_logarithm_levels_have_16_bits():
    loud = features("micro_frontend:enable_log=false,even_smoothing=0,odd_smoothing=0,smoothing_bits=0")
    assert 10_000 < loud.max() <= 65_535


@pytest.mark.parametrize(
    ("word", "what"),
    [
        ("even_smoothing=1.5", "even_smoothing must be 0 to 1, not 1.5"),
        ("smoothing_bits=17", "smoothing_bits must be 0 to 16, not 17"),
        ("gain_bits=12", "gain_bits must be 18 to 30, not 12"),
        (
            "window_size=2000",
            "window_size is 2000 ms, at 16000 samples a second that must be 4 to 16384 samples",
        ),
        ("num_channels=0", "num_channels must be more than 0, not 0"),
    ],
)
def test_words_that_make_no_sense_are_refused(word, what):
    with pytest.raises(DeclarationError) as caught:
        read_front(f"micro_frontend:{word}")
    assert caught.value.what == what


def model() -> bytes:
    """A convolution over all features."""
    build = ModelBuilder("listener")
    x = build.input("features", (1, FRAMES, 40, 1), scale=2.6, zero_point=-128)
    w, b, s = random_weights(1, (4, 5, 8, 1))
    return build.finish(build.conv2d(x, w, b, weight_scales=s, scale=0.05, stride=(2, 4)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("board", "words"),
    [
        pytest.param("host", WORDS, marks=pytest.mark.cc),
        pytest.param("host", "micro_frontend:num_channels=40,enable_log=false", marks=pytest.mark.cc),
        pytest.param("mps2-an386", WORDS, marks=[pytest.mark.arm, pytest.mark.qemu]),
    ],
)
def test_c_makes_the_same_bits_of_samples_as_they_come(board, words, tmp_path, require_tool):
    require_tool("cc" if board == "host" else "arm-none-eabi-gcc")
    path = tmp_path / "listener.tflite"
    path.write_bytes(model())
    lowest = np.full(4000, -(2**15), np.int16)
    lowest[1000:1100] = 0
    clips = np.stack([signal(), signal() // 3000, lowest])[:, None]
    options: dict[str, Any] = {"front": f"{words},samples=4000", "stream": True, "layers": board == "host"}
    verdict = deploy.verify(path, board=board, inputs=clips, **options)
    assert verdict.equal, str(verdict)


@pytest.mark.cc
@pytest.mark.slow
def test_c_follows_each_channels_energy_row_by_row(tmp_path):
    path = tmp_path / "listener.tflite"
    path.write_bytes(model())
    words = "sr=16000,n_fft=256,hop_length=160,n_mels=40,center=false,times=2147483648,samples=3900"
    options: dict[str, Any] = {"front": f"librosa.pcen:{words}", "stream": True, "layers": True}
    verdict = deploy.verify(path, board="host", inputs=signal()[None, :3900], **options)
    assert verdict.equal, str(verdict)


CONTINUOUS = f"{WORDS},continuous=true"
IN_A_RUN, BEFORE = 480, 320  # samples: three steps of 10 ms, and what a window of 30 ms reaches back


def in_runs(count: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int16]]:
    """The signal, as it comes run by run."""
    return signal()[: count * IN_A_RUN].reshape(count, 1, IN_A_RUN)


def test_runs_go_on_with_the_sound_and_the_noise_of_those_before():
    """They are one clip whose first window begins in silence."""
    graph = with_front(negating(TensorType(DType.F32, (1, 3, 40))), CONTINUOUS)
    found = [-next(iter(run.values()))[0] for run in run_series(graph, ({"samples": x} for x in in_runs(8)))]
    whole = np.concatenate([np.zeros(BEFORE, np.int16), in_runs(8).reshape(-1)])
    clip = with_front(negating(TensorType(DType.F32, (1, 24, 40))), f"{WORDS},samples={whole.size}")
    (wanted,) = run_graph(clip, {"samples": whole[None]}).values()
    assert np.array_equal(np.concatenate(found), -wanted[0])


def test_a_front_end_that_begins_anew_is_refused_before_a_model_that_remembers(shared_dir):
    path = shared_dir / "models" / "mww_okay_nabu_v2_int8" / "model.tflite"
    refused(
        lambda: deploy.load(path, front=WORDS),
        f"model keeps state --front {WORDS} micro_frontend:continuous=true continues sound",
        ModelError,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "board",
    [
        pytest.param("host", marks=pytest.mark.cc),
        pytest.param("mps2-an386", marks=[pytest.mark.arm, pytest.mark.qemu]),
    ],
)
def test_a_wake_word_is_listened_for_in_samples_as_they_come(board, shared_dir, require_tool):
    require_tool("cc" if board == "host" else "arm-none-eabi-gcc")
    path = shared_dir / "models" / "mww_okay_nabu_v2_int8" / "model.tflite"
    front = f"{CONTINUOUS},out_scale=25.6"
    verdict = deploy.verify(path, board=board, front=front, stream=True, inputs=in_runs(8))
    assert verdict.equal, str(verdict)


@pytest.mark.slow
def test_a_program_takes_continuous_sound_in_one_lane(tmp_path):
    """Overlapping windows would hear everything twice."""
    build = ModelBuilder("words")
    x = build.reshape(build.input("features", (1, 3, 40, 1), scale=2.6, zero_point=-128), (1, 120))
    w, b, s = random_weights(1, (4, 120))
    y = build.softmax(build.fully_connected(x, w, b, weight_scales=s[:1], scale=0.1))
    path = tmp_path / "words.tflite"
    path.write_bytes(build.finish(y))
    for words, lanes in ((CONTINUOUS, 1), (WORDS, 2)):
        compiled = deploy.compile(path, board="host", front=words, back="classes", stream=True)
        place = tmp_path / str(lanes)
        deploy.new(compiled, place, app="kws", class_names="a,b,c,d")
        (header,) = place.rglob("app.h")
        assert f"#define LANES {lanes}u" in header.read_text()


KWS = (
    "tf.signal.mfcc:sample_rate=16000,samples=16000,frame_length=480,frame_step=320,fft_length={},"
    "num_mel_bins=40,lower_edge_hertz=20,upper_edge_hertz=4000,num_mfccs=10"
)


@pytest.mark.parametrize("length", [6, 10, 100, 126, 500, 514])
@pytest.mark.parametrize("power", [1, 2])
def test_bins_are_those_of_a_plain_transform(length, power):
    frame = min(length, 90)
    found = features(
        f"tf.signal.spectrogram:sample_rate=16000,frame_length={frame},frame_step=100,fft_length={length},"
        f"power={power}"
    )
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(frame) / frame)
    frames = np.lib.stride_tricks.sliding_window_view(signal() / 32768, frame)[::100]
    wanted = np.abs(np.fft.rfft(frames * window, length)) ** power
    assert np.abs(found - wanted).max() < BOUND * wanted.max()


@pytest.mark.cc
@pytest.mark.slow
def test_this_computer_computes_every_layer_like_the_reference(shared_dir):
    network = shared_dir / "models" / "tiny_kws_dscnn_int8" / "model.tflite"
    clip = read_wav(shared_dir / "datasets" / "yes_1000ms.wav", 16000)
    verdict = deploy.verify(network, board="host", front=KWS.format(500), inputs=clip, layers=True)
    assert verdict.equal, str(verdict)


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
def test_an_emulated_cortex_m4_hears_the_word_row_by_row(shared_dir):
    network = shared_dir / "models" / "tiny_kws_dscnn_int8" / "model.tflite"
    clip = read_wav(shared_dir / "datasets" / "yes_1000ms.wav", 16000)
    verdict = deploy.verify(network, board="mps2-an386", front=KWS.format(500), inputs=clip, stream=True)
    assert verdict.equal, str(verdict)


EACH = pytest.mark.parametrize("case", CASES, ids=lambda case: case.declared.partition(":")[0])


@EACH
def test_the_reference_gives_what_the_library_gave(case):
    assert distance(case) < BOUND


def test_integer_features_are_the_librarys_in_every_bit():
    (case,) = (c for c in CASES if c.library == "pymicro_features")
    assert distance(case) == 0


@pytest.mark.slow
@pytest.mark.parametrize("case", [c for c in CASES if c.library == "librosa"], ids=lambda c: c.declared[:14])
def test_the_stored_results_are_those_of_the_installed_library(case, require_package):
    require_package(case.library)
    found, rows = np.asarray(case.compute(signal() / 32768.0)), STORED[case.declared]["rows"]
    wanted = np.array(list(rows.values()))
    assert np.allclose(found[[int(n) for n in rows]], wanted, rtol=1e-4, atol=1e-5 * np.abs(wanted).max())


@pytest.mark.parametrize(
    ("changed", "into"),
    [
        ("num_mfccs=10", "num_mfccs=10,log_offset=0.01"),
        ("divide_by=max", "divide_by=32768"),
        ("lower_edge_hertz=20", "lower_edge_hertz=40"),
        ("num_mel_bins=40", "num_mel_bins=39"),
    ],
)
def test_each_parameter_counts(changed, into):
    declared = CASES[2].declared
    assert changed in declared
    other = features(declared.replace(changed, into))
    assert not np.allclose(features(declared), other, rtol=1e-3)
