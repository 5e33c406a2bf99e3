"""Filters and features of movement are those of scipy and numpy, here and on an emulated Cortex-M4."""

import numpy as np
import pytest
from library_bounds import BOUND, movement_distance, movement_features, negating
from movement_cases import AXES, MOVEMENTS, ROWS, movement
from movement_cost import FRONTS, compiled

import deploy
from aot.errors import ModelError
from aot.frontend.declared import DeclarationError
from aot.fronts.attach import read_front, with_front
from aot.ir.graph import Graph
from aot.ir.types import DType, TensorType

EACH = pytest.mark.parametrize("case", MOVEMENTS, ids=lambda case: case.name)


def front(declared: str, elements: int) -> Graph:
    return with_front(negating(TensorType(DType.F32, (1, elements))), declared)


@EACH
def test_it_is_what_the_library_computes(case, require_package):
    require_package("scipy")
    assert movement_distance(case) < BOUND


def test_integers_of_a_sensor_have_its_steps():
    counts = np.round(movement() * 1000).astype(np.int16)
    declared = "scipy.filter:sample_rate=100,axes=3,b=0.5/0.5"
    stepped = movement_features(f"{declared},int16=0.001", counts.size, counts)
    floats = movement_features(declared, counts.size, counts.astype(np.float32) * np.float32(0.001))
    assert np.allclose(stepped, floats, rtol=1e-6)


def test_what_does_not_move_has_no_skew():
    declared = f"scipy.features:sample_rate=100,axes=3,samples={ROWS},features=std/skew/kurtosis"
    still = np.full((ROWS, AXES), 2.0, np.float32)
    assert movement_features(declared, 9, still).reshape(3, 3).tolist() == [[0.0, 0.0, -3.0]] * 3


WRONG = {
    "N=3,Wn=60": "Wn is 60 Hz, it must rise and stay between 0 and 50 Hz, half of sample_rate",
    "N=3,Wn=20/5,btype=bandpass": "Wn is 20/5 Hz, it must rise and stay between 0 and 50 Hz, half of "
    "sample_rate",
    "N=3": "Wn has 0 frequencies for lowpass",
    "N=13,Wn=3": "N must be 1 to 12, not 13",
    "N=3,Wn=3,btype=notch": "btype must be one of lowpass, highpass, bandpass, not notch",
    "N=3,Wn=3,b=1/2": "N and b are given: choose one way to define the filter",
    "sos=1/2/3": "sos has 3 numbers, a section has 6, and there are 1 to 16",
    "sos=1/2/3/0/1/2": "sos has a section whose a0 is not 1",
    "b=1/2,a=0/1": "the first number of a must not be 0",
    "b=1/2,a=1/2/3/4": "a and b have 4 and 2 numbers, a filter with poles is given by 3 at most",
    "detrend=linear": "detrend must be constant or none, not linear",
    "axes=0": "axes must be more than 0, not 0",
}
MUST = (
    "features must be a list of mean, std, rms, skew, kurtosis, min, max, ptp without repeats, with "
    "welch last"
)
WRONG_FEATURES = {
    "features=rms/peaks": f'{MUST}, not "rms/peaks"',
    "features=welch/rms": f'{MUST}, not "welch/rms"',
    "nperseg=15": "nperseg must be even and 4 to 10922, or a power of 2 up to 32768, not 15",
    "nperseg=128": "nperseg is 128, but must not exceed samples, which is 125",
    "noverlap=16": "noverlap is 16, but must not exceed nperseg - 1, which is 15",
    "window=hamming": "window must be boxcar or hann, not hamming",
    "scaling=power": "scaling must be density or spectrum or none, not power",
}


@pytest.mark.parametrize("words", WRONG)
def test_a_filter_that_is_none_is_refused(words):
    with pytest.raises(DeclarationError) as refused:
        read_front(f"scipy.filter:sample_rate=100,{'' if 'axes' in words else 'axes=3,'}{words}")
    assert refused.value.what == WRONG[words]


@pytest.mark.parametrize("words", WRONG_FEATURES)
def test_features_that_are_none_are_refused(words):
    with pytest.raises(DeclarationError) as refused:
        read_front(f"scipy.features:sample_rate=100,axes=3,samples=125,{words}")
    assert refused.value.what == WRONG_FEATURES[words]


@pytest.mark.parametrize(
    ("declared", "elements", "what"),
    [
        (
            "scipy.features:sample_rate=100,axes=3,samples=125,nperseg=16",
            37,
            "the front end computes 12 features for each axis, 3 axes together 36; but the model's input "
            '"x" has 37: [1, 37]',
        ),
        (
            "scipy.features:sample_rate=100,axes=3,nperseg=16",
            36,
            "the number of rows in a window is not set",
        ),
        (
            "scipy.filter:sample_rate=100,axes=3,samples=12",
            33,
            "the front end computes 3 numbers for each row and 12 rows of a window, but the model's input "
            '"x" has '
            "shape [1, 33]",
        ),
    ],
)
def test_what_does_not_fit_the_model_is_refused(declared, elements, what):
    with pytest.raises(ModelError) as refused:
        front(declared, elements)
    assert refused.value.what == what


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.parametrize("stream", [False, True])
def test_boards_compute_it(shared_dir, stream):
    """The wand's network behind a filter, row by row and as a whole: what the reference computes."""
    path = shared_dir / "models" / "tflm_magic_wand_f32" / "model.tflite"
    words = "scipy.filter:sample_rate=25,axes=3,N=4,Wn=5"
    for board in ("host", "mps2-an386"):
        verdict = deploy.verify(path, board=board, front=words, stream=stream)
        assert verdict.equal, str(verdict)


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.parametrize("name", [name for name, (declared, _) in FRONTS.items() if "features" in declared])
def test_boards_compute_features_and_what_a_network_of_integers_makes_of_them(name, tmp_path):
    for board in ("host", "mps2-an386"):
        verdict = deploy.verify(compiled(name, tmp_path, board))
        assert verdict.equal, str(verdict)
