"""Trains a small network that reads letters from tones, on sound that it makes itself.

    python -m deploy.demo.tones train FOLDER
    python -m deploy.demo.tones say "hello world" -o hello.wav

Each letter is a pair of tones, as on a telephone's keys. `train` takes less than a minute and needs only
NumPy and onnx. It writes tones.onnx, which hears four seconds at once; tones_step.onnx, which hears 0.2
seconds in a run and keeps state; tokens.txt, the text of each label; and samples.npz, features to quantize
tones_step.onnx with. `say` writes a text as sound.
"""

from __future__ import annotations

import argparse
import sys
import wave
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from aot.frontend.onnx.written_networks import ConvEncoder, Floats
from aot.fronts.attach import declared_front
from aot.fronts.spectrum import Spectrum

Samples = npt.NDArray[np.int16]
Weights = dict[str, Floats]

# The front end computes features of frames that do not overlap, so that no frame has sound of two runs.
RATE, FRAME, MELS = 8000, 160, 24
FRONT = (
    f"tf.signal.log_mel:sample_rate={RATE},frame_length={FRAME},frame_step={FRAME},num_mel_bins={MELS},"
    "lower_edge_hertz=300,upper_edge_hertz=3600,log_offset=0.001"
)
FRAMES, STEP_FRAMES = 200, 10  # of a run of each model
LETTERS = " abcdefghijklmnopqrstuvwxyz"
TOKENS = ("<blank>", "<space>", *LETTERS[1:])
_LOW, _HIGH = (440, 580, 740, 920, 1130), (1400, 1720, 2080, 2480, 2920, 3350)  # Hz
_SEEN, _INNER = 5, 32  # frames of the convolution, its results
_LATE = 2  # frames of a tone that the network hears before it answers
_SAMPLES, _HELD_OUT = 20, 100  # texts
_BATCH, _LEARNING_RATE, _DECAYS = 16, 3e-3, (0.9, 0.999)


def spoken(text: str, random: np.random.Generator) -> tuple[Samples, npt.NDArray[np.int64]]:
    """Returns the tones of a text of LETTERS, and the token that each frame should give."""
    before = int(random.integers(1, 5))
    parts, tokens = [np.zeros(before * FRAME)], [0] * before
    for letter in text:
        number, tone, pause = LETTERS.index(letter), int(random.integers(4, 8)), int(random.integers(3, 6))
        time = np.arange(tone * FRAME) / RATE
        pair = _LOW[number % len(_LOW)], _HIGH[number // len(_LOW)]
        loud = random.uniform(0.05, 0.3, 2)
        waves = sum(
            level * np.sin(2 * np.pi * (hertz * random.uniform(0.99, 1.01) * time + random.random()))
            for level, hertz in zip(loud, pair, strict=True)
        )
        parts += [waves, np.zeros(pause * FRAME)]
        tokens += [0] * _LATE + [number + 1] * tone + [0] * (pause - _LATE)
    sound = np.concatenate([*parts, np.zeros(_SEEN * FRAME)])
    sound += random.normal(0, random.uniform(0.001, 0.01), len(sound))
    tokens += [0] * (len(sound) // FRAME - len(tokens))
    return (sound.clip(-1, 1) * 32767).astype(np.int16), np.array(tokens, np.int64)


def features(sound: Samples) -> Floats:
    """Returns what FRONT computes, [frames, MELS]."""
    front = declared_front(FRONT)
    assert isinstance(front, Spectrum)
    assert front.filters is not None
    assert front.logarithm is not None
    frames = sound.reshape(-1, FRAME) / 32768 * front.frames.window
    mels = abs(np.fft.rfft(frames, front.fft_length)) @ front.filters
    return np.log(mels + front.logarithm.offset).astype(np.float32)


def texts(count: int, seed: int) -> list[str]:
    """Returns words of random letters, that fit four seconds; the same seed gives the same texts."""
    random = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        words = ["".join(random.choice(list(LETTERS[1:]), int(random.integers(1, 6)))) for _ in range(4)]
        made.append(" ".join(words)[:13].strip())
    return made


def _windows(rows: Floats) -> Floats:
    """Returns [frames, _SEEN * MELS]: each frame and those before it, zeros before the first."""
    padded = np.concatenate([np.zeros((_SEEN - 1, MELS), np.float32), rows])
    return np.concatenate([padded[k : k + len(rows)] for k in range(_SEEN)], 1)


def _scores(weights: Weights, windows: Floats) -> tuple[Floats, Floats]:
    """Returns the hidden values and the scores of the tokens."""
    hidden = np.maximum(windows @ weights["first"] + weights["first_bias"], 0)
    return hidden, hidden @ weights["last"] + weights["last_bias"]


def train(steps: int, seed: int) -> tuple[Weights, float]:
    """Returns the weights, and the last loss per frame. The script knows the token of each frame."""
    random = np.random.default_rng(seed)
    shapes = {"first": (_SEEN * MELS, _INNER), "last": (_INNER, len(TOKENS))}
    weights: Weights = {}
    for name, shape in shapes.items():
        weights[name] = random.normal(0, shape[0] ** -0.5, shape).astype(np.float32)
        weights[f"{name}_bias"] = np.zeros(shape[1], np.float32)
    told = [spoken(text, random) for text in texts(_BATCH * 20, seed)]
    heard = [(_windows(features(sound)), tokens) for sound, tokens in told]
    means, squares = ({name: np.zeros_like(array) for name, array in weights.items()} for _ in range(2))
    loss = 0.0
    for step in range(1, steps + 1):
        chosen = [heard[k] for k in random.integers(0, len(heard), _BATCH)]
        windows, tokens = (np.concatenate(each) for each in zip(*chosen, strict=True))
        hidden, scores = _scores(weights, windows)
        chances = np.exp(scores - scores.max(1, keepdims=True))
        chances /= chances.sum(1, keepdims=True)
        places = np.arange(len(tokens))
        loss = float(-np.log(chances[places, tokens] + 1e-12).mean())
        chances[places, tokens] -= 1
        back = chances / np.float32(len(tokens))
        inner = back @ weights["last"].T * (hidden > 0)
        grads = {
            "first": windows.T @ inner,
            "first_bias": inner.sum(0),
            "last": hidden.T @ back,
            "last_bias": back.sum(0),
        }
        now = _LEARNING_RATE * (0.05 + 0.95 * (1 + np.cos(np.pi * step / steps)) / 2)
        for name, grad in grads.items():
            means[name] += np.float32(1 - _DECAYS[0]) * (grad - means[name])
            squares[name] += np.float32(1 - _DECAYS[1]) * (grad * grad - squares[name])
            mean = means[name] / np.float32(1 - _DECAYS[0] ** step)
            square = squares[name] / np.float32(1 - _DECAYS[1] ** step)
            weights[name] -= np.float32(now) * mean / (np.sqrt(square) + np.float32(1e-8))
    return weights, loss


def decoded(scores: Floats) -> str:
    """Returns the text of scores [frames, tokens]: repeats count once, and blanks are dropped."""
    best = scores.argmax(1)
    kept = [token for token, before in zip(best, [0, *best[:-1]], strict=True) if token not in (0, before)]
    return "".join(LETTERS[token - 1] for token in kept)


def write_models(folder: Path, weights: Mapping[str, Floats], seed: int) -> None:
    """Writes both models, the texts of their labels, and features of a sequence of runs to quantize with."""
    folder.mkdir(parents=True, exist_ok=True)
    shaped = {**weights, "first": weights["first"].reshape(_SEEN, MELS, _INNER)}
    encoder = ConvEncoder(**shaped)
    (folder / "tones.onnx").write_bytes(encoder.model(FRAMES, keeps_state=False))
    (folder / "tones_step.onnx").write_bytes(encoder.model(STEP_FRAMES, keeps_state=True))
    (folder / "tokens.txt").write_text("".join(f"{token}\n" for token in TOKENS), encoding="utf-8")
    random = np.random.default_rng(seed)
    heard = np.concatenate([features(spoken(text, random)[0]) for text in texts(_SAMPLES, seed)])
    whole = len(heard) // STEP_FRAMES
    np.savez(folder / "samples.npz", features=heard[: whole * STEP_FRAMES].reshape(whole, STEP_FRAMES, MELS))


def write_sound(file: Path, sound: Samples) -> None:
    with file.open("wb") as stream, wave.open(stream, "wb") as written:
        written.setparams((1, 2, RATE, 0, "NONE", ""))
        written.writeframes(sound.astype("<i2").tobytes())


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.seed < 0:
        parser.error("--seed is not negative")
    try:
        if given.action == "say":
            if not given.text or set(given.text) - set(LETTERS):
                parser.error("a text has lower-case letters and spaces")
            write_sound(given.output, spoken(given.text, np.random.default_rng(given.seed))[0])
            return 0
        if given.steps < 1:
            parser.error("--steps is at least 1")
        weights, loss = train(given.steps, given.seed)
        write_models(given.folder, weights, given.seed)
    except OSError as error:
        print(error, file=sys.stderr)
        return 1
    random, right = np.random.default_rng(given.seed + 1), 0
    for text in texts(_HELD_OUT, given.seed + 1):
        right += decoded(_scores(weights, _windows(features(spoken(text, random)[0])))[1]) == text
    count = sum(array.size for array in weights.values())
    print(
        f"{count:,} parameters, loss {loss:.4f} per frame, {right} of {_HELD_OUT} new texts without an error"
    )
    return 0


def _parser() -> argparse.ArgumentParser:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        prog="python -m deploy.demo.tones",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(dest="action", required=True)
    training = actions.add_parser("train", help="make sound and train a network on it")
    training.add_argument("folder", type=Path, help="where the files are written")
    training.add_argument("--steps", type=int, default=250, help="[250]")
    saying = actions.add_parser("say", help="write a text as tones")
    saying.add_argument("text", help="lower-case letters and spaces")
    saying.add_argument("-o", dest="output", type=Path, required=True, metavar="FILE.wav")
    for each in (training, saying):
        each.add_argument("--seed", type=int, default=1, help="[1]")
    return parser


if __name__ == "__main__":
    sys.exit(main())
