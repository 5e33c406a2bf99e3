"""A small language model: its gradients, its step in ONNX Runtime and in C, and its weights in few bits."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from story_models import SIZES, STATES, answers, greedy_by_onnx_runtime, tokens_of

import deploy
from aot.errors import DeployError
from aot.frontend.onnx.byte_caches import with_byte_caches
from aot.frontend.onnx.packed_products import with_packed_products
from aot.frontend.onnx.written_networks import LlamaSizes
from deploy.demo.stories import main, measured
from deploy.demo.story_network import StoryNetwork, first_weights
from deploy.demo.story_text import StoryTokenizer, stories, train_tokenizer

PROMPT = "Once upon a"


def test_gradients_are_those_of_small_changes():
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


def test_stories_and_tokens_are_the_same_for_the_same_seed():
    told = stories(20, 7)
    assert told == stories(20, 7) != stories(20, 8)
    tokenizer = train_tokenizer(told, 90)
    assert len(tokenizer.tokens) == 90
    assert [tokenizer.decode(tokenizer.encode(story)) for story in told] == told


def test_a_tokenizer_is_the_same_from_its_file(trained, tmp_path):
    tokenizer = StoryTokenizer.load(trained / "tokenizer.json")
    tokenizer.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (trained / "tokenizer.json").read_bytes()
    assert StoryTokenizer.load(tmp_path / "again.json") == tokenizer


@pytest.mark.cc
def test_the_compiled_step_chooses_the_tokens_of_onnx_runtime(trained):
    wanted = greedy_by_onnx_runtime(trained, tokens_of(trained, PROMPT))
    compiled = deploy.compile(trained / "stories.onnx", board="host", state=STATES)
    with deploy.connect(compiled) as device:
        for place, (token, following) in enumerate(pairwise(wanted)):
            made = device.run({"token": np.array([token]), "position": np.array([place])}).outputs["logits"]
            begun = len(StoryTokenizer.load(trained / "tokenizer.json").encode(PROMPT))
            assert place < begun or int(made.argmax()) == following


@pytest.mark.cc
def test_few_bits_keep_the_perplexity(trained):
    before = (trained / "stories.onnx").read_bytes()
    found = [measured(trained / "stories.onnx", 3)]
    for bits in (8, 4):
        made, packed = with_packed_products(before, bits)
        assert len(packed) == 7 * SIZES.layers + 2
        with_caches, caches = with_byte_caches(made)
        assert caches == tuple(STATES)
        for each in (made, with_caches):
            (trained / "packed.onnx").write_bytes(each)
            found.append(measured(trained / "packed.onnx", 3))
    assert found[0] < 20  # of 64 tokens
    assert found[1:3] == pytest.approx([found[0]] * 2, rel=0.01)
    assert found[3:] == pytest.approx([found[0]] * 2, rel=0.05)


def test_the_quantizer_stores_caches_in_bytes_once(trained, tmp_path):
    small = tmp_path / "small.onnx"
    answer = deploy.quantize(
        trained / "stories.onnx", None, small, activation_type="dynamic", io_type="int8", weight_type="int4"
    )
    assert answer["caches"] == list(STATES)
    assert "in int4, 4 caches in int8; " in str(answer)
    with pytest.raises(DeployError, match="no caches of keys and values that TensorScatter writes"):
        deploy.quantize(small, None, tmp_path / "b.onnx", activation_type="dynamic", io_type="int8")
    assert not (tmp_path / "b.onnx").exists()


@pytest.fixture(scope="module")
def byte_caches(trained):
    """The name of the model with caches of bytes, next to the other."""
    made, _ = with_byte_caches((trained / "stories.onnx").read_bytes())
    (trained / "bytes.onnx").write_bytes(made)
    return "bytes.onnx"


@pytest.mark.cc
def test_caches_of_bytes_are_written_in_place_and_end_at_their_last_position(trained, byte_caches):
    """A row of keys or values takes a byte for each element, and four for its scale."""
    rows = 2 * SIZES.layers * SIZES.shared * SIZES.positions
    floats, small = (
        deploy.compile(trained / name, board="host", state="auto") for name in ("stories.onnx", byte_caches)
    )
    saved = rows * (4 * SIZES.head - (SIZES.head + 4))
    assert floats.report.facts.arena_bytes - small.report.facts.arena_bytes >= saved - 64
    with deploy.connect(floats) as device:
        of_floats = device.save_state()
    with deploy.connect(small) as device:
        own = device.save_state()
        assert rows * (SIZES.head + 4) <= len(own) < rows * (SIZES.head + 4) + 64
        for place in (-1, SIZES.positions - 1):
            device.run({"token": np.array([1]), "position": np.array([place])})
        with pytest.raises(DeployError, match="position"):
            device.run({"token": np.array([1]), "position": np.array([SIZES.positions])})
        with pytest.raises(DeployError):
            device.restore_state(of_floats)
        device.restore_state(own)


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("--heads", "5"), "--width is a multiple of twice the heads, 10"),
        (("--shared", "4"), "--heads is a multiple of --shared, 4"),
        (("--steps", "0"), "--steps is at least 1"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(words, fault, tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["train", str(tmp_path / "model"), *words])
    assert fault in capsys.readouterr().err
    assert not (tmp_path / "model").exists()


def test_a_model_without_its_tokenizer_is_not_measured(tmp_path, capsys):
    assert main(["measure", str(tmp_path / "stories.onnx")]) == 1
    assert "tokenizer.json" in capsys.readouterr().err


PROMPTS = ("Once upon a", "Lily")
BOARDS = ("mps2-an386", "mps2-an500", "mps3-an547", "qemu-riscv32")


def project_of(folder: Path, board: str, place: Path, model: str = "stories.onnx") -> Path:
    compiled = deploy.compile(folder / model, board=board, state="auto")
    deploy.new(compiled, place, board, app="chat", tokenizer=folder / "tokenizer.json")
    return place


def wanted_answer(folder: Path, prompt: str, model: str = "stories.onnx") -> str:
    tokenizer = StoryTokenizer.load(folder / "tokenizer.json")
    tokens = greedy_by_onnx_runtime(folder, tokens_of(folder, prompt), model)
    made = tokens[1 + len(tokenizer.encode(prompt)) :]
    if 0 in made:
        return prompt + tokenizer.decode(made[: made.index(0)]) + "\n"
    return prompt + tokenizer.decode(made) + f"\n(ended: all {SIZES.positions} positions are used)\n"


@pytest.fixture(scope="module")
def here(trained, tmp_path_factory):
    """The program on this computer."""
    return project_of(trained, "host", tmp_path_factory.mktemp("chat") / "here")


@pytest.mark.cc
def test_greedy_answers_are_those_of_onnx_runtime(trained, here):
    assert answers(here, *PROMPTS) == [wanted_answer(trained, prompt) for prompt in PROMPTS]


@pytest.mark.cc
def test_greedy_answers_with_caches_of_bytes_are_those_of_onnx_runtime(trained, byte_caches, tmp_path):
    project = project_of(trained, "host", tmp_path / "chat", byte_caches)
    assert answers(project, *PROMPTS) == [wanted_answer(trained, prompt, byte_caches) for prompt in PROMPTS]


@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("model", ["stories.onnx", "bytes.onnx"])
@pytest.mark.parametrize("board", BOARDS)
def test_boards_answer_as_onnx_runtime(trained, byte_caches, tmp_path, board, model, require_tool):
    require_tool("riscv64-unknown-elf-gcc" if "riscv" in board else "arm-none-eabi-gcc")
    require_tool("qemu-system-riscv32" if "riscv" in board else "qemu-system-arm")
    project = project_of(trained, board, tmp_path / "chat", model)
    assert answers(project, *PROMPTS) == [wanted_answer(trained, prompt, model) for prompt in PROMPTS]


@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("changed", [lambda made: made, lambda made: with_byte_caches(made)[0]])
def test_weights_in_bytes_give_the_same_text_everywhere(trained, tmp_path, changed, require_tool):
    require_tool("arm-none-eabi-gcc")
    made, _ = with_packed_products((trained / "stories.onnx").read_bytes(), 8)
    (trained / "int8.onnx").write_bytes(changed(made))
    found = [
        answers(project_of(trained, board, tmp_path / board, "int8.onnx"), *PROMPTS)
        for board in ("host", "mps2-an386", "mps3-an547")
    ]
    assert found[0] == found[1] == found[2]


@pytest.mark.cc
def test_a_seed_gives_the_same_text_again(here):
    lines = ("/temperature 1.5", "/top-k 20", "/seed 7", "Lily", "/seed 8", "Lily", "/seed 7", "Lily")
    made = [text for text in answers(here, *lines) if text]
    assert len(made) == 3
    assert made[0] == made[2] != made[1]


@pytest.mark.cc
def test_prompts_that_the_model_cannot_take_are_refused_and_the_next_is_answered(trained, here):
    refused = {
        b"Once \xc3\xa9": "error: the model has no token for byte 195 at place 6 of the prompt\n",
        b"Once " * 60: f"tokens, but the model was compiled for {SIZES.positions - 2} and an answer\n",
        b"O" * 1024: "error: the prompt has more than 1023 bytes\n",
        b"O" * 5000: "error: the prompt has more than 1023 bytes\n",
        b"/top-k 65": "error: unknown setting; try /temperature 0.8, /top-k 20 (1 to 64) or /seed 7\n",
        b"/temperature warm": "error: unknown setting",
        b"/seed": "error: unknown setting",
    }
    *found, last = answers(here, *refused, PROMPTS[0])
    assert all(wanted in text for wanted, text in zip(refused.values(), found, strict=True)), found
    assert last == wanted_answer(trained, PROMPTS[0])


def _changed(change: Callable[[dict[str, Any]], object]) -> Callable[[Path, Path], str]:
    def write(folder: Path, place: Path) -> str:
        content = json.loads((folder / "tokenizer.json").read_text())
        change(content)
        place.write_text(json.dumps(content))
        return str(place)

    return write


BAD_TOKENIZERS: dict[str, tuple[Callable[[Path, Path], str | None], str]] = {
    "none": (lambda folder, place: None, "needs the model's tokenizer"),
    "no file": (lambda folder, place: str(place), "cannot be read: No such file"),
    "another kind": (_changed(lambda c: c["model"].update(type="Unigram")), "not supported: model Unigram"),
    "split by a pattern": (_changed(lambda c: c["pre_tokenizer"].update(use_regex=True)), "not supported"),
    "a merge of nothing": (_changed(lambda c: c["model"]["merges"].append("Q Q")), "not a tokenizer"),
    "other tokens": (_changed(lambda c: c["model"]["vocab"].update(QQ=64)), "65 tokens, the model 64 logits"),
    "a gap": (_changed(lambda c: c["model"]["vocab"].update(QQ=70)), "gaps"),
    "no special token": (_changed(lambda c: c.update(added_tokens=[])), "begin or end"),
}


@pytest.mark.parametrize("name", BAD_TOKENIZERS)
def test_a_tokenizer_that_does_not_fit_is_refused(trained, tmp_path, name):
    write, wanted = BAD_TOKENIZERS[name]
    compiled = deploy.compile(trained / "stories.onnx", board="host", state=STATES)
    with pytest.raises(DeployError, match=wanted):
        deploy.new(
            compiled,
            tmp_path / "chat",
            "host",
            app="chat",
            tokenizer=write(trained, tmp_path / "tokenizer.json"),
        )


def test_models_that_are_no_step_are_refused(trained, tmp_path, repo_root):
    tokenizer = trained / "tokenizer.json"
    digits = deploy.compile(repo_root / "deploy/demo/digits.tflite", board="host")
    with pytest.raises(DeployError, match="one integer input, the token"):
        deploy.new(digits, tmp_path / "a", "host", app="chat", tokenizer=tokenizer)
    stateless = deploy.compile(trained / "stories.onnx", board="host")
    with pytest.raises(DeployError, match="integer input"):
        deploy.new(stateless, tmp_path / "b", "host", app="chat", tokenizer=tokenizer)
    with pytest.raises(DeployError, match="has no tokenizer"):
        deploy.new(digits, tmp_path / "c", "host", tokenizer=tokenizer)


_COMMANDS = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SMALL = "--tokens 64 --width 32 --layers 2 --heads 4 --inner 48 --positions 40 --steps 20"


@pytest.mark.qemu
@pytest.mark.slow
def test_the_commands_of_the_tutorial_work(repo_root, tmp_path, require_tool):
    """Its model is smaller here, so its texts are not those of the page."""
    require_tool("arm-none-eabi-gcc")
    page = (repo_root / "docs" / "tutorials" / "language-model.md").read_text(encoding="utf-8")
    commands = [
        shlex.split(line)
        for block in _COMMANDS.findall(page)
        for line in block.replace("\\\n", "").splitlines()
    ]
    assert len(commands) == 8
    printed = []
    for program, *words in commands:
        own = [*words, *(shlex.split(_SMALL) if "train" in words else [])]
        started = [sys.executable, *(["-m", "deploy"] if program == "deploy" else []), *own]
        environment = {**os.environ, "PYTHONPATH": str(repo_root)}
        typed = "Once upon a time\n/seed 3\nCaf\xe9\n"
        done = subprocess.run(
            started,
            input=typed,
            capture_output=True,
            encoding="utf-8",
            cwd=tmp_path,
            env=environment,
            check=False,
        )
        assert done.returncode == 0, (own, done.stderr)
        printed.append(done.stdout)
    found = [float(number) for number in re.findall(r"perplexity (.*)", printed[4])]
    assert found[1:] == pytest.approx([found[0]] * 3, rel=0.05)
    first, answer, none, refused, last = printed[-1].split("> ")
    assert (first, none, last) == ("", "", "")
    assert answer.startswith("Once upon a time")
    assert refused.startswith("error: the model has no token for byte 67 at place 1 of the prompt\n")
