"""Transforms of other than a power of two of samples: their bins, and compiled C."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from front_cases import signal
from library_bounds import BOUND, features

import deploy
from deploy.inputs.recordings import read_wav

KWS = (
    "tf.signal.mfcc:sample_rate=16000,samples=16000,frame_length=480,frame_step=320,fft_length={},"
    "num_mel_bins=40,lower_edge_hertz=20,upper_edge_hertz=4000,num_mfccs=10"
)


@pytest.mark.parametrize("length", [6, 10, 100, 126, 500, 514])
@pytest.mark.parametrize("power", [1, 2])
def test_bins_are_those_of_a_plain_transform(length: int, power: int) -> None:
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
def test_this_computer_computes_every_layer_like_the_reference(
    shared_dir: Path, require_tool: Callable[..., None]
) -> None:
    require_tool("cc")
    network = shared_dir / "models" / "tiny_kws_dscnn_int8" / "model.tflite"
    clip = read_wav(shared_dir / "datasets" / "yes_1000ms.wav", 16000)
    verdict = deploy.verify(network, board="host", front=KWS.format(500), inputs=clip, layers=True)
    assert verdict.equal, str(verdict)


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
def test_an_emulated_cortex_m4_hears_the_word_row_by_row(
    shared_dir: Path, require_tool: Callable[..., None]
) -> None:
    require_tool("arm-none-eabi-gcc", "qemu-system-arm")
    network = shared_dir / "models" / "tiny_kws_dscnn_int8" / "model.tflite"
    clip = read_wav(shared_dir / "datasets" / "yes_1000ms.wav", 16000)
    verdict = deploy.verify(network, board="mps2-an386", front=KWS.format(500), inputs=clip, stream=True)
    assert verdict.equal, str(verdict)
