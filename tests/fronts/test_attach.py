"""Front ends: how they are declared, and how they become layers before the model's input."""

import numpy as np
import pytest
from error_facts import require_facts

from aot.errors import ModelError
from aot.frontend.declared import DeclarationError
from aot.fronts.attach import FRONTS, declared_front, read_front, with_front
from aot.fronts.spectrum import Spectrum
from aot.interpret import run_graph
from aot.ir.graph import Graph, Node
from aot.ir.types import Array, DType, Quant, TensorType
from aot.ops.binary import Add
from aot.ops.reshape import Reshape

TF = "tf.signal.mfcc:sample_rate=16000,frame_length=480,frame_step=320"


def test_words_and_tables_mean_the_same():
    table = {"name": "tf.signal.mfcc", "sample_rate": 16000, "frame_length": 480, "frame_step": 320}
    assert read_front(table) == read_front(TF) == TF


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("librosa.mfcc", "librosa.mfcc"),
        ("librosa.mfcc:fmax=none,htk=True", "librosa.mfcc:fmax=none,htk=true"),
        ("torchaudio.MFCC:n_fft=5.12e2", "torchaudio.MFCC:n_fft=512.0"),
        ({"name": "librosa.mel", "norm": None, "divide_by": "max"}, "librosa.mel:norm=none,divide_by=max"),
    ],
)
def test_what_is_kept_is_read_again(given, kept):
    assert read_front(given) == kept == read_front(kept)


# A declaration, and the facts of its error and hint.
WRONG: tuple[tuple[object, str], ...] = (
    ("librosa.mfc", f'"librosa.mfc" "librosa.mfcc"? {" ".join(FRONTS)}'),
    (7, "7 NAME:PARAMETER=VALUE,..."),
    ("librosa.mfcc:htk", '"htk" no value librosa.mfcc htk=...'),
    (
        f"{TF},num_mfcc=10",
        'tf.signal.mfcc "num_mfcc" "num_mfccs"? frame_length frame_step fft_length log_offset',
    ),
    ("tf.signal.mfcc:frame_length=480,frame_step=320", "tf.signal.mfcc needs tf.signal.mfcc:sample_rate=..."),
    (f"{TF},num_mfccs=9.5", "tf.signal.mfcc: num_mfccs whole number 9.5"),
    ("librosa.mel:fmax=nyquist", "librosa.mel: fmax number none nyquist"),
    (f"{TF},upper_edge_hertz=11025", "upper_edge_hertz 11025 16000 8000 sample_rate"),
    (f"{TF},lower_edge_hertz=4000", "lower_edge_hertz 4000 upper_edge_hertz 3800 smaller"),
    ("torchaudio.MFCC:n_fft=401", "n_fft even 4 10922 32768 401"),
    ("torchaudio.MFCC:n_fft=11000", "n_fft even 4 10922 32768 11000"),
    (f"{TF},fft_length=256", "frame_length 480 exceed fft_length 256"),
    (f"{TF},num_mfccs=30", "num_mfccs 30 exceed num_mel_bins 20"),
    ("librosa.mel:hop_length=0", "hop_length more than 0"),
    ("librosa.mel:power=1.5", "power 1 2 1.5"),
    ("librosa.mel:window=hamming", "window hann hamming"),
    ("librosa.mel:pad_mode=edge", "pad_mode constant reflect edge"),
    ("torchaudio.MelSpectrogram:n_fft=512,mel_scale=bark", "mel_scale htk slaney bark"),
    ("librosa.mel:norm=2", "norm slaney none 2"),
    (f"{TF},divide_by=rms", "divide_by 32768 max rms"),
)


@pytest.mark.parametrize(("given", "facts"), WRONG)
def test_what_is_wrong_is_reported(given, facts):
    with pytest.raises(DeclarationError) as caught:
        read_front(given)
    text = f"{caught.value.what} {caught.value.hint}"
    assert not [fact for fact in facts.split() if fact not in text], text


def test_a_clip_is_as_short_as_its_frames_allow():
    spectrum = declared_front(TF)
    assert isinstance(spectrum, Spectrum)
    frames = spectrum.frames
    assert frames.least_samples(49) == 15_840
    assert [frames.count(n) for n in (479, 480, 799, 800, 15_839, 15_840)] == [0, 1, 1, 2, 48, 49]


FRONT = "tf.signal.log_mel:sample_rate=16000,frame_length=64,frame_step=32,num_mel_bins=9"
STEPS = Quant((0.125,), (3,))
CLIP = np.round(9000 * np.sin(np.arange(160) ** 2 / 300)).astype(np.int16)[None]


def model(*shape: int, dtype: DType = DType.F32, quant: Quant | None = None) -> Graph:
    """A model that gives its input as one line."""
    kind = TensorType(dtype, shape, quant)
    line = TensorType(dtype, (1, kind.elements), quant)
    node = Node("flat", Reshape(line.shape), ("x",), ("y",))
    return Graph("line", ("x",), ("y",), (node,), {"x": kind, "y": line})


def result(graph: Graph) -> Array:
    (found,) = run_graph(graph, {"samples": CLIP}).values()
    return found.reshape(-1)


FEATURES = result(with_front(model(1, 4, 9, 1), FRONT))


@pytest.mark.parametrize("shape", [(1, 4, 9), (4, 9), (1, 1, 4, 9), (1, 36), (1, 4, 9, 1), (1, 4, 1, 9)])
def test_frames_come_first(shape):
    assert np.array_equal(result(with_front(model(*shape), FRONT)), FEATURES)


@pytest.mark.parametrize("shape", [(1, 9, 4), (9, 4), (1, 9, 4, 1), (1, 1, 9, 4)])
def test_features_come_first_where_the_model_takes_them_so(shape):
    assert np.array_equal(result(with_front(model(*shape), FRONT)), FEATURES.reshape(4, 9).T.reshape(-1))


@pytest.mark.parametrize(("front", "is_turned"), [(FRONT, False), ("librosa.mel:", True)])
def test_a_square_input_has_the_order_of_the_library(front, is_turned):
    if is_turned:
        front = "librosa.mel:sr=16000,n_fft=64,hop_length=40,n_mels=4"
    else:
        front = FRONT.replace("bins=9", "bins=4")
    graph = with_front(model(1, 4, 4), front)
    assert [node.name for node in graph.nodes if node.op.name == "rearrange"] == ["front/turned"] * is_turned


@pytest.mark.parametrize("dtype", [DType.I8, DType.U8, DType.I16])
def test_integers_are_the_features_in_the_steps_of_the_input(dtype):
    quant = Quant((0.125,), (0 if dtype is DType.I16 else 3,))
    found = result(with_front(model(1, 4, 9, dtype=dtype, quant=quant), FRONT))
    steps = np.round(FEATURES.astype(np.float64) / 0.125) + quant.zero_point
    assert np.array_equal(found, np.clip(steps, *dtype.limits))


def test_layers_say_where_they_come_from_and_names_stay_unique():
    graph = model(1, 4, 9)
    taken = Graph(
        "taken",
        ("samples",),
        ("front/fft",),
        (Node("front/fft", Reshape((36,)), ("samples",), ("front/fft",)),),
        {"samples": graph.types["x"], "front/fft": TensorType(DType.F32, (36,))},
    )
    made = with_front(taken, FRONT)
    assert (made.inputs, made.outputs) == (("samples#2",), ("front/fft",))
    assert {node.origin for node in made.nodes} == {"--front tf.signal.log_mel", ""}


def _refusal(graph: Graph, front: str) -> str:
    with pytest.raises(ModelError) as caught:
        with_front(graph, front)
    return str(caught.value)


def test_other_features_are_refused_with_both_numbers():
    require_facts(
        _refusal(model(1, 49, 10, 1), FRONT),
        f'9 model\'s "x" [1 49 10 1] front computes features --front {FRONT} dimension product',
    )


def test_other_frames_are_refused_with_both_numbers():
    require_facts(
        _refusal(model(1, 49, 9, 1), f"{FRONT},samples=16000"),
        f'16,000 499 model\'s "x" 49 [1 9 1] samples give frames --front {FRONT},samples=16000 1,600 '
        "1,631 change between",
    )


def test_a_model_of_two_inputs_is_refused():
    kind = TensorType(DType.F32, (1, 4, 9))
    graph = Graph(
        "two", ("a", "b"), ("y",), (Node("sum", Add(), ("a", "b"), ("y",)),), dict.fromkeys("aby", kind)
    )
    require_facts(_refusal(graph, FRONT), f"2 front provides input --front {FRONT}")


def test_integers_without_a_scale_are_refused():
    require_facts(
        _refusal(model(1, 4, 9, dtype=DType.I32), FRONT),
        f'model\'s "x" i32 input holds without --front {FRONT}',
    )
