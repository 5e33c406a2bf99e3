"""Reads 16-bit samples from a WAV file, and rejects formats that the model would misinterpret."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np

from aot.errors import InputError
from aot.ir.types import Array

SUFFIX = ".wav"
_BITS = 16
_HOW = "convert it, for example: sox in.wav -r {rate} -c 1 -b 16 out.wav"


def read_wav(path: Path, sample_rate: int | None) -> Array:
    """Returns the samples of one channel as [1, n]; `sample_rate` is that of a front end.

    Raises InputError.
    """
    try:
        with wave.open(str(path)) as file:
            form = file.getparams()
            # A header may claim too many frames, for example if a recorder never updated the length.
            frames = min(form.nframes, path.stat().st_size // max(1, form.nchannels * form.sampwidth))
            data = file.readframes(frames)
    except FileNotFoundError:
        raise InputError("the file of inputs does not exist", str(path)) from None
    except OSError as error:
        raise InputError(f"the file of inputs cannot be read: {error.strerror}", str(path)) from None
    except (wave.Error, EOFError):
        raise InputError("the file of inputs is not a WAV file of whole numbers", str(path)) from None
    hint = _HOW.format(rate=sample_rate or form.framerate)
    if form.nchannels != 1:
        raise InputError(f"the file has {form.nchannels} channels, the model needs 1", str(path), hint)
    if form.sampwidth * 8 != _BITS:
        raise InputError(
            f"the file has {form.sampwidth * 8}-bit samples, the model needs {_BITS}", str(path), hint
        )
    if sample_rate is not None and form.framerate != sample_rate:
        raise InputError(
            f"the file has {form.framerate} samples a second, the front end needs {sample_rate}",
            str(path),
            hint,
        )
    return np.frombuffer(data[: len(data) // 2 * 2], "<i2").astype(np.int16)[None]
