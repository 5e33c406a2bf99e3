"""A small language model: its gradients, its step in ONNX Runtime and in C, and its weights in few bits."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from story_models import SIZES, STATES, greedy_by_onnx_runtime

import deploy
from aot.frontend.onnx.llama_step import LlamaSizes
from aot.frontend.onnx.packed_products import with_packed_products
from deploy.demo.stories import main, measured
from deploy.demo.story_network import StoryNetwork, first_weights
from deploy.demo.story_text import StoryTokenizer, stories, train_tokenizer

PROMPT = "Once upon a"


def test_gradients_are_those_of_small_changes() -> None:
    sizes = LlamaSizes(20, 16, 2, 4, 2, 24, 8)
    weights = {name: array.astype(np.float64) for name, array in first_weights(sizes, 0).items()}
    tokens = np.random.default_rng(1).integers(0, 20, (3, 9))
    network, change = StoryNetwork(sizes), 1e-5
    _, grads = network.loss(weights, tokens[:, :-1], tokens[:, 1:])  # type: ignore[arg-type]
    for name, array in weights.items():
        place = np.unravel_index(np.abs(grads[name]).argmax(), array.shape)
        losses = []
        for moved in (change, -2 * change):
            array[place] += moved
            losses.append(network.loss(weights, tokens[:, :-1], tokens[:, 1:])[0])  # type: ignore[arg-type]
        array[place] += change
        assert (losses[0] - losses[1]) / 2 / change == pytest.approx(grads[name][place], rel=1e-5)


def test_stories_and_tokens_are_the_same_for_the_same_seed() -> None:
    told = stories(20, 7)
    assert told == stories(20, 7) != stories(20, 8)
    tokenizer = train_tokenizer(told, 90)
    assert len(tokenizer.tokens) == 90
    assert [tokenizer.decode(tokenizer.encode(story)) for story in told] == told


def test_a_tokenizer_is_the_same_from_its_file(trained: Path, tmp_path: Path) -> None:
    tokenizer = StoryTokenizer.load(trained / "tokenizer.json")
    tokenizer.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (trained / "tokenizer.json").read_bytes()
    assert StoryTokenizer.load(tmp_path / "again.json") == tokenizer


@pytest.mark.cc
def test_the_compiled_step_chooses_the_tokens_of_onnx_runtime(trained: Path) -> None:
    wanted = greedy_by_onnx_runtime(trained, PROMPT)
    compiled = deploy.compile(trained / "stories.onnx", board="host", state=STATES)
    with deploy.connect(compiled) as device:
        for place, (token, following) in enumerate(pairwise(wanted)):
            made = device.run({"token": np.array([token]), "position": np.array([place])}).outputs["logits"]
            begun = len(StoryTokenizer.load(trained / "tokenizer.json").encode(PROMPT))
            assert place < begun or int(made.argmax()) == following


@pytest.mark.cc
def test_few_bits_keep_the_perplexity(trained: Path) -> None:
    before = (trained / "stories.onnx").read_bytes()
    found = [measured(trained / "stories.onnx", 3)]
    for bits in (8, 4):
        made, packed = with_packed_products(before, bits)
        assert len(packed) == 7 * SIZES.layers + 2
        (trained / "packed.onnx").write_bytes(made)
        found.append(measured(trained / "packed.onnx", 3))
    assert found[0] < 20  # of 64 tokens
    assert found[1] == pytest.approx(found[0], rel=0.01)
    assert found[2] == pytest.approx(found[0], rel=0.05)


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("--heads", "5"), "--width is a multiple of twice the heads, 10"),
        (("--shared", "4"), "--heads is a multiple of --shared, 4"),
        (("--steps", "0"), "--steps is at least 1"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(
    words: tuple[str, str], fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["train", str(tmp_path / "model"), *words])
    assert fault in capsys.readouterr().err
    assert not (tmp_path / "model").exists()


def test_a_model_without_its_tokenizer_is_not_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["measure", str(tmp_path / "stories.onnx")]) == 1
    assert "tokenizer.json" in capsys.readouterr().err
