"""Front ends with the call of the library that each is to equal, and the signal that they are compared on."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
SAMPLES = 4000


def signal() -> npt.NDArray[np.int16]:
    """A tone that rises, with noise, from loud to quiet."""
    n = np.arange(SAMPLES)
    tone = np.sin(2 * np.pi * (n / 90 + n * n / 40_000)) * 14_000 * (1 - n / (SAMPLES + 200))
    noise = (n * n * 7919 + n * 104_729) % 1201 - 600
    return np.round(tone + noise).astype(np.int16)


@dataclass(frozen=True)
class FrontCase:
    """`compute` imports its library and gives [frames, features] of samples from -1 to 1."""

    declared: str
    compute: Callable[[FloatArray], Any]

    @property
    def library(self) -> str:
        """The package that has to be installed."""
        first = self.declared.partition(":")[0].partition(".")[0]
        packages = {"tf": "tensorflow", "torchvision": "torch", "micro_frontend": "pymicro_features"}
        return packages.get(first, first)


def _tf_spectrogram(x: FloatArray) -> Any:
    import tensorflow as tf

    return tf.abs(tf.signal.stft(tf.constant(x, tf.float32), 250, 100)).numpy()


def _tf_log_mel(x: FloatArray) -> Any:
    import tensorflow as tf

    spectrogram = tf.abs(tf.signal.stft(tf.constant(x, tf.float32), 255, 100, fft_length=512)) ** 2
    weights = tf.signal.linear_to_mel_weight_matrix(24, 257, 16000, 80.0, 7600.0)
    return tf.math.log(spectrogram @ weights + 1e-3).numpy()


def _tf_mfcc(x: FloatArray) -> Any:
    import tensorflow as tf

    samples = tf.constant(x, tf.float32)
    samples /= tf.reduce_max(samples)
    spectrogram = tf.abs(tf.signal.stft(samples, 480, 320))
    weights = tf.signal.linear_to_mel_weight_matrix(40, 257, 16000, 20.0, 4000.0)
    log_mel = tf.math.log(spectrogram @ weights + 1e-6)
    return tf.signal.mfccs_from_log_mel_spectrograms(log_mel)[..., :10].numpy()


def _librosa_mel(x: FloatArray) -> Any:
    import librosa

    mel = librosa.feature.melspectrogram(
        y=x.astype(np.float32), sr=16000, n_fft=256, hop_length=200, n_mels=20
    )
    return mel.T


def _librosa_mel_of_400(x: FloatArray) -> Any:
    import librosa

    mel = librosa.feature.melspectrogram(
        y=x.astype(np.float32), sr=16000, n_fft=400, hop_length=160, win_length=300, n_mels=20
    )
    return mel.T


def _librosa_decibels(x: FloatArray) -> Any:
    import librosa

    mel = librosa.feature.melspectrogram(
        y=x.astype(np.float32), sr=16000, n_fft=512, win_length=400, hop_length=160, n_mels=24, htk=True,
        norm=None, center=False, power=1.0,
    )  # fmt: skip
    return librosa.power_to_db(mel, ref=0.5, top_db=None).T


def _librosa_pcen(x: FloatArray) -> Any:
    import librosa

    mel = librosa.feature.melspectrogram(
        y=x.astype(np.float32), sr=16000, n_fft=512, hop_length=160, n_mels=24, power=1.0
    )
    return librosa.pcen(mel * 2.0**31, sr=16000, hop_length=160, gain=0.8, bias=10, power=0.25).T


def _librosa_pcen_as_logarithm(x: FloatArray) -> Any:
    import librosa

    mel = librosa.feature.melspectrogram(
        y=x.astype(np.float32), sr=16000, n_fft=256, hop_length=200, n_mels=20
    )
    return librosa.pcen(mel, sr=16000, hop_length=200, power=0, time_constant=0.06).T


def _micro_frontend(x: FloatArray) -> Any:
    """In steps of 1 / 25.6, as the package gives them."""
    from pymicro_features import MicroFrontend

    frontend, left = MicroFrontend(), np.round(x * 32768).astype(np.int16).tobytes()
    found = []
    while left:
        done = frontend.process_samples(left)
        left = left[2 * done.samples_read :]
        if done.features:
            found.append(done.features)
    return np.round(np.array(found) * 25.6)


def _librosa_mfcc(x: FloatArray) -> Any:
    import librosa

    return librosa.feature.mfcc(
        y=x.astype(np.float32), sr=16000, n_fft=512, hop_length=250, n_mfcc=13, n_mels=32, fmin=60.0
    ).T


def _torch_spectrogram(x: FloatArray) -> Any:
    import torch
    import torchaudio

    transform = torchaudio.transforms.Spectrogram(n_fft=256, win_length=200, power=1.0)
    return transform(torch.tensor(x, dtype=torch.float32)).numpy().T


def _torch_mel(x: FloatArray) -> Any:
    import torch
    import torchaudio

    transform = torchaudio.transforms.MelSpectrogram(
        16000, n_fft=512, hop_length=200, n_mels=32, f_min=50.0, mel_scale="slaney", norm="slaney"
    )
    return transform(torch.tensor(x, dtype=torch.float32)).numpy().T


def _torch_decibels(x: FloatArray) -> Any:
    import torch
    import torchaudio

    mel = torchaudio.transforms.MelSpectrogram(
        16000, n_fft=512, hop_length=200, n_mels=20, center=False
    )(torch.tensor(x, dtype=torch.float32))  # fmt: skip
    return torchaudio.transforms.AmplitudeToDB(top_db=60.0)(mel[None])[0].numpy().T


def _torch_mfcc(x: FloatArray) -> Any:
    import torch
    import torchaudio

    transform = torchaudio.transforms.MFCC(
        16000, n_mfcc=12, melkwargs={"n_fft": 512, "hop_length": 200, "n_mels": 40}
    )
    return transform(torch.tensor(x, dtype=torch.float32)).numpy().T


CASES = (
    FrontCase("tf.signal.spectrogram:sample_rate=16000,frame_length=250,frame_step=100", _tf_spectrogram),
    FrontCase(
        "tf.signal.log_mel:sample_rate=16000,frame_length=255,frame_step=100,fft_length=512,power=2,"
        "num_mel_bins=24,lower_edge_hertz=80,upper_edge_hertz=7600,log_offset=0.001",
        _tf_log_mel,
    ),
    FrontCase(
        "tf.signal.mfcc:sample_rate=16000,frame_length=480,frame_step=320,num_mel_bins=40,"
        "lower_edge_hertz=20,upper_edge_hertz=4000,num_mfccs=10,divide_by=max",
        _tf_mfcc,
    ),
    FrontCase("librosa.mel:sr=16000,n_fft=256,hop_length=200,n_mels=20", _librosa_mel),
    FrontCase("librosa.mel:sr=16000,n_fft=400,hop_length=160,win_length=300,n_mels=20", _librosa_mel_of_400),
    FrontCase(
        "librosa.mel_db:sr=16000,n_fft=512,win_length=400,hop_length=160,n_mels=24,htk=true,norm=none,"
        "center=false,power=1,ref=0.5,top_db=none",
        _librosa_decibels,
    ),
    FrontCase("librosa.mfcc:sr=16000,n_fft=512,hop_length=250,n_mfcc=13,n_mels=32,fmin=60", _librosa_mfcc),
    FrontCase(
        "librosa.pcen:sr=16000,n_fft=512,hop_length=160,n_mels=24,power=1,times=2147483648,gain=0.8,bias=10,"
        "pcen_power=0.25",
        _librosa_pcen,
    ),
    FrontCase(
        "librosa.pcen:sr=16000,n_fft=256,hop_length=200,n_mels=20,pcen_power=0,time_constant=0.06",
        _librosa_pcen_as_logarithm,
    ),
    FrontCase("micro_frontend:window_size=30,num_channels=40,enable_pcan=true", _micro_frontend),
    FrontCase("torchaudio.Spectrogram:n_fft=256,win_length=200,power=1", _torch_spectrogram),
    FrontCase(
        "torchaudio.MelSpectrogram:n_fft=512,hop_length=200,n_mels=32,f_min=50,mel_scale=slaney,norm=slaney",
        _torch_mel,
    ),
    FrontCase(
        "torchaudio.MelSpectrogramDB:n_fft=512,hop_length=200,n_mels=20,center=false,top_db=60",
        _torch_decibels,
    ),
    FrontCase("torchaudio.MFCC:n_fft=512,hop_length=200,n_mels=40,n_mfcc=12", _torch_mfcc),
)
