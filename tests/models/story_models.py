"""A language model trained within seconds, and its greedy answers by ONNX Runtime."""

import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import onnxruntime

from aot.frontend.onnx.written_networks import LlamaSizes, cache_pairs, llama_step
from deploy.demo.stories import as_tokens
from deploy.demo.story_network import Weights, train
from deploy.demo.story_text import StoryTokenizer, stories, train_tokenizer

SIZES = LlamaSizes(tokens=64, width=32, layers=2, heads=4, shared=2, inner=48, positions=40)
STATES = cache_pairs(SIZES.layers)


@cache
def _trained() -> tuple[StoryTokenizer, Weights]:
    told = stories(150, 1)
    tokenizer = train_tokenizer(told, SIZES.tokens)
    return tokenizer, train(SIZES, as_tokens(tokenizer, told), 120, 8, 1e-2, 1)


def write_story_model(folder: Path) -> None:
    """Writes stories.onnx, tokenizer.json and held_out.txt."""
    tokenizer, weights = _trained()
    (folder / "stories.onnx").write_bytes(llama_step(SIZES, weights))
    tokenizer.save(folder / "tokenizer.json")
    (folder / "held_out.txt").write_text("\n".join(stories(3, 2)) + "\n")


KINDS = {"tensor(float)": np.float32, "tensor(int8)": np.int8}


def tokens_of(folder: Path, prompt: str) -> list[int]:
    """Returns the tokens of a text, after the one that begins it."""
    return [0, *StoryTokenizer.load(folder / "tokenizer.json").encode(prompt)]


def greedy_by_onnx_runtime(folder: Path, begun: Sequence[int], model: str = "stories.onnx") -> list[int]:
    """Returns all tokens that fit the model's positions: those of the begun text, and the model's choices."""
    quiet = onnxruntime.SessionOptions()
    quiet.log_severity_level = 3
    session = onnxruntime.InferenceSession(folder / model, quiet)
    names = [each.name for each in session.get_outputs()]
    caches = {
        each.name: np.zeros(each.shape, KINDS[each.type])
        for each in session.get_inputs()
        if each.name.startswith("past")
    }
    tokens = list(begun)
    for place in range(SIZES.positions):
        given = {"token": np.array([tokens[place]]), "position": np.array([place]), **caches}
        made = dict(zip(names, session.run(None, given), strict=True))
        caches = {name: made[name.replace("past_key_values", "present")] for name in caches}
        if place == len(tokens) - 1:
            tokens.append(int(made["logits"].argmax()))
    return tokens


def answers(project: Path, *lines: str | bytes) -> list[str]:
    """Returns what the program writes after each line."""
    typed = b"".join((line.encode() if isinstance(line, str) else line) + b"\n" for line in lines)
    command = [sys.executable, "-m", "deploy", "monitor", str(project)]
    done = subprocess.run(command, input=typed, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr.decode()
    first, *found = done.stdout.decode().split("> ")
    assert (first, len(found)) == ("", len(lines) + 1), done.stdout
    return found[:-1]
