"""Trains a small language model on stories that it makes itself, and measures models of the same step.

    python -m deploy.demo.stories train FOLDER
    python -m deploy.demo.stories measure FOLDER/stories.onnx FOLDER/stories_int8.onnx

`train` needs only NumPy and a few minutes on two cores. It writes stories.onnx (one step: token, position and
caches to logits and caches), tokenizer.json, and held_out.txt, stories that the model has not seen. The same
options give the same stories and nearly the same weights: sums differ in the last digits between machines.

`measure` compiles each model for this computer and prints its perplexity per token on held_out.txt.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import deploy
from aot.errors import DeployError, InputError
from aot.frontend.onnx.written_networks import Floats, LlamaSizes, llama_step
from aot.frontend.paired_states import usual_pairs
from deploy.demo.story_network import Integers, StoryNetwork, train
from deploy.demo.story_text import StoryTokenizer, stories, train_tokenizer

_STORIES, _HELD_OUT = 6000, 40
_REPORTED = 50  # steps
_BATCH, _RATE = 8, 3e-3
_SIZES = {"tokens": 256, "width": 96, "layers": 4, "heads": 6, "shared": 2, "inner": 256, "positions": 128}
_NAMES = ("stories.onnx", "tokenizer.json", "held_out.txt")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.action == "train" and (wrong := _wrong(given)):
        parser.error(wrong)
    try:
        if given.action == "train":
            _train(given)
        else:
            for model in given.models:
                print(f"{model}: perplexity {measured(model, given.stories):.3f}", flush=True)
    except (DeployError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        prog="python -m deploy.demo.stories",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(dest="action", required=True)
    training = actions.add_parser("train", help="make stories and train a model on them")
    training.add_argument("folder", type=Path, help="where the files are written")
    for name, default in {**_SIZES, "steps": 800, "seed": 1}.items():
        training.add_argument(f"--{name}", type=int, default=default, help=f"[{default}]")
    measuring = actions.add_parser("measure", help="print the perplexity of models of a step")
    measuring.add_argument("models", nargs="+", type=Path, metavar="MODEL.onnx")
    measuring.add_argument("--stories", type=int, default=10, help="how many of held_out.txt to read [10]")
    return parser


def _wrong(given: argparse.Namespace) -> str:
    """Returns the first fault of the sizes, or an empty text."""
    if small := [name for name in (*_SIZES, "steps") if getattr(given, name) < 1]:
        return f"--{small[0]} is at least 1"
    if given.width % (2 * given.heads):
        return f"--width is a multiple of twice the heads, {2 * given.heads}: rotary positions turn pairs"
    if given.heads % given.shared:
        return f"--heads is a multiple of --shared, {given.shared}"
    return ""


def _train(given: argparse.Namespace) -> None:
    folder: Path = given.folder
    folder.mkdir(parents=True, exist_ok=True)
    told, held_out = stories(_STORIES, given.seed), stories(_HELD_OUT, given.seed + 1)
    tokenizer = train_tokenizer(told, given.tokens)
    sizes = LlamaSizes(**{**{name: getattr(given, name) for name in _SIZES}, "tokens": len(tokenizer.tokens)})

    def report(step: int, loss: float) -> None:
        if step % _REPORTED == 0 or step == given.steps:
            print(f"step {step} of {given.steps}: loss {loss:.3f}", flush=True)

    weights = train(sizes, as_tokens(tokenizer, told), given.steps, _BATCH, _RATE, given.seed, report)
    losses = [
        _loss(StoryNetwork(sizes).logits(weights, tokens[np.newaxis, :-1])[0], tokens[1:])
        for tokens in (as_tokens(tokenizer, [story])[: sizes.positions + 1] for story in held_out)
    ]
    count = sum(array.size for array in weights.values())
    print(f"{count:,} parameters, perplexity {np.exp(np.mean(np.concatenate(losses))):.3f}")
    (folder / _NAMES[0]).write_bytes(llama_step(sizes, weights))
    tokenizer.save(folder / _NAMES[1])
    (folder / _NAMES[2]).write_text("\n".join(held_out) + "\n", encoding="utf-8")


def as_tokens(tokenizer: StoryTokenizer, told: Sequence[str]) -> Integers:
    """Returns stories as one row of tokens, each after an END."""
    return np.array([token for story in told for token in (0, *tokenizer.encode(story))], np.int64)


def _loss(logits: Floats, following: Integers) -> Floats:
    """Returns the cross entropy of each token."""
    below = logits.astype(np.float64) - logits.max(axis=1, keepdims=True)
    total = np.log(np.exp(below).sum(axis=1))
    made: Floats = total - np.take_along_axis(below, following[:, np.newaxis], 1)[:, 0]
    return made


def measured(file: Path, count: int) -> float:
    """Returns the perplexity per token of a step, compiled for this computer, on stories next to the file."""
    tokenizer = StoryTokenizer.load(file.parent / _NAMES[1])
    held_out = (file.parent / _NAMES[2]).read_text(encoding="utf-8").splitlines()[:count]
    model = deploy.load(file)
    pairs = dict(usual_pairs(model.graph))
    if not pairs:
        raise InputError(
            "the model has no caches", str(file), "name a step that `train` or `deploy quantize` wrote"
        )
    positions = model.graph.types[next(iter(pairs))].shape[2]
    compiled = deploy.compile(file, board="host", state=pairs)
    losses = []
    with deploy.connect(compiled) as device:
        for story in held_out:
            tokens = as_tokens(tokenizer, [story])[: positions + 1]
            device.reset()
            logits = [
                device.run({"token": token, "position": np.array([place])}).outputs["logits"]
                for place, token in enumerate(tokens[:-1, np.newaxis])
            ]
            losses.append(_loss(np.concatenate(logits), tokens[1:]))
    return float(np.exp(np.mean(np.concatenate(losses))))


if __name__ == "__main__":
    sys.exit(main())
