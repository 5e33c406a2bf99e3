"""The program that turns sound into text: its letters are those of the reference and of ONNX Runtime."""

import os
import re
import shlex
import struct
import subprocess
import sys
import wave
from typing import Any

import numpy as np
import onnxruntime
import pytest
from listener import built

import deploy
from aot.errors import DeployError
from deploy.demo.tones import (
    FRAME,
    FRAMES,
    FRONT,
    RATE,
    STEP_FRAMES,
    TOKENS,
    decoded,
    features,
    main,
    spoken,
    texts,
    train,
    write_models,
    write_sound,
)
from deploy.inputs.label_file import read_label_texts

pytestmark = pytest.mark.cc

BOARDS = ("mps2-an386", "mps2-an500", "mps3-an547", "qemu-riscv32")
SAID = "the quick brown fox"
MOST = FRAMES * FRAME


@pytest.fixture(scope="module")
def tones(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tones")
    write_models(folder, train(200, 1)[0], 1)
    deploy.quantize(folder / "tones_step.onnx", folder / "samples.npz", folder / "tones_int8.onnx")
    return folder


@pytest.fixture(scope="module")
def sounds():
    """Some short texts, and one that is longer than a window; whole steps of each."""
    random = np.random.default_rng(7)
    made = {text: spoken(text, random)[0] for text in [*texts(4, 7), SAID]}
    step = STEP_FRAMES * FRAME
    return {text: np.pad(sound, (0, -len(sound) % step)) for text, sound in made.items()}


def compiled(folder, model, board):
    return deploy.compile(folder / model, board=board, front=FRONT, stream=True)


def project_of(folder, model, board, place, **words):
    given = {"tokenizer": folder / "tokens.txt", **words}
    deploy.new(compiled(folder, model, board), place, app="transcribe", **given)
    return place


@pytest.fixture(scope="module")
def programs(tones, tmp_path_factory, require_tool):
    """The programs of three models on this computer."""
    require_tool("make")
    folder = tmp_path_factory.mktemp("programs")
    names = ("tones.onnx", "tones_step.onnx", "tones_int8.onnx")
    return {name: built(project_of(tones, name, "host", folder / name)) for name in names}


def written(program, *files, given=b""):
    done = subprocess.run([program, *map(str, files)], input=given, capture_output=True, check=False)
    assert done.stderr == b""
    return done.returncode, done.stdout.decode()


def by_reference(folder, model, sound):
    """The text of the reference in NumPy, front end included."""
    loaded = deploy.load(folder / model, front=FRONT)
    (scores,) = loaded.run(sound.reshape(-1, MOST if model == "tones.onnx" else STEP_FRAMES * FRAME)).values()
    return decoded(scores.reshape(-1, len(TOKENS)).astype(np.float32)) + "\n"


def by_onnx_runtime(folder, sound):
    session = onnxruntime.InferenceSession(folder / "tones_step.onnx")
    past = np.zeros(session.get_inputs()[1].shape, np.float32)
    found = []
    for heard in features(sound).reshape(-1, 1, STEP_FRAMES, session.get_inputs()[0].shape[-1]):
        scores, past = session.run(None, {"features": heard, "past": past})
        found.append(scores[0])
    return decoded(np.concatenate(found)) + "\n"


def test_the_network_reads_texts_that_it_has_not_heard(tones, sounds):
    assert [by_onnx_runtime(tones, sound) for sound in sounds.values()] == [f"{text}\n" for text in sounds]


@pytest.mark.slow
@pytest.mark.parametrize("model", ["tones.onnx", "tones_step.onnx", "tones_int8.onnx"])
def test_letters_are_those_of_the_reference(tones, sounds, programs, tmp_path, model):
    kept = {text: sound for text, sound in sounds.items() if model != "tones.onnx" or len(sound) <= MOST}
    assert len(kept) >= 4
    files, wanted = [], []
    for text, sound in kept.items():
        files.append(tmp_path / f"{text}.wav")
        write_sound(files[-1], sound)
        whole = np.pad(sound, (0, MOST - len(sound))) if model == "tones.onnx" else sound
        wanted.append(by_reference(tones, model, whole))
    assert written(programs[model], *files) == (0, "".join(wanted))
    assert wanted == [by_onnx_runtime(tones, sound) for sound in kept.values()]


@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("model", ["tones.onnx", "tones_step.onnx", "tones_int8.onnx"])
@pytest.mark.parametrize("board", BOARDS)
def test_boards_write_what_this_computer_writes(
    tones, sounds, programs, tmp_path, board, model, run_deploy, require_tool
):
    require_tool("riscv64-unknown-elf-gcc" if "riscv" in board else "arm-none-eabi-gcc")
    require_tool("qemu-system-riscv32" if "riscv" in board else "qemu-system-arm")
    write_sound(tmp_path / "in.wav", sounds[SAID] if model != "tones.onnx" else next(iter(sounds.values())))
    project = project_of(tones, model, board, tmp_path / "project", recording=tmp_path / "in.wav")
    told = run_deploy("monitor", project)
    assert told.status == 0, told.err
    assert (0, told.out) == written(programs[model], tmp_path / "in.wav")
    assert len(told.out) > 4


def test_a_short_sound_ends_in_silence_and_a_stream_continues(programs, sounds, tmp_path):
    """The last steps are not whole; a stream of unknown length gives a line for each window."""
    sound = sounds[SAID][: -5 * FRAME]
    write_sound(tmp_path / "in.wav", sound)
    whole = (tmp_path / "in.wav").read_bytes()
    stream = whole[:40] + struct.pack("<I", 0xFFFF_FFFF) + whole[44:]
    assert written(programs["tones_step.onnx"], given=stream) == (0, f"{SAID}\n")
    status, text = written(programs["tones.onnx"], given=stream)
    assert (status, text.count("\n")) == (0, -(-len(sound) // MOST))


@pytest.mark.slow
@pytest.mark.parametrize(("gap", "told"), [("lost", "rows of sound lost: 3"), ("stall", "no sound came")])
def test_after_a_gap_the_text_begins_anew(tones, sounds, tmp_path, gap, told, require_tool):
    """Neither model nor text remember what was before."""
    require_tool("make")
    rows = 8 * STEP_FRAMES
    project = project_of(tones, "tones_step.onnx", "host", tmp_path / "p")
    sensor = project / "src" / "sensor.c"
    row, count = "            return SENSOR_ROW;\n", "static uint32_t rows;\n"
    after = f"if (++rows == {rows + 1}u) {{ *lost_rows = 3; }}\n" if gap == "lost" else ""
    before = f"if (rows++ == {rows}u) {{ return SENSOR_STALLED; }}\n" if not after else ""
    text = sensor.read_text()
    assert row in text
    text = text.replace("enum sensor_status sensor_read", f"{count}enum sensor_status sensor_read")
    sensor.write_text(text.replace(row, after + row).replace("(void)lost_rows;", f"{before}(void)lost_rows;"))
    write_sound(tmp_path / "in.wav", sounds[SAID])
    halves = sounds[SAID][: rows * FRAME], sounds[SAID][rows * FRAME :]
    first, second = (by_reference(tones, "tones_step.onnx", half) for half in halves)
    assert first != second
    assert written(built(project), tmp_path / "in.wav") == (0, f"{first[:-1]} ({told})\n{second.lstrip(' ')}")


def wav(path, sound, rate=RATE, channels=1):
    with wave.open(str(path), "wb") as file:
        file.setparams((channels, 2, rate, 0, "NONE", ""))
        file.writeframes(sound.tobytes())


@pytest.mark.parametrize(
    ("model", "form", "why"),
    [
        ("tones_step.onnx", {"rate": 16000}, "the file has 16000 samples a second, the model takes 8000"),
        ("tones_step.onnx", {"channels": 2}, "the file has 2 channels, the model takes 1"),
        ("tones.onnx", {}, f"the file has {MOST + 1} samples, the model hears at most {MOST}"),
    ],
)
def test_a_sound_that_does_not_fit_is_refused(programs, tmp_path, model, form, why):
    path = tmp_path / "in.wav"
    wav(path, np.zeros(MOST + 1, np.int16) if not form else np.zeros(800, np.int16), **form)
    assert written(programs[model], path) == (1, f"error: {path}: {why}\n")


def test_a_sound_that_breaks_off_is_reported_on_its_own_line(programs, sounds, tmp_path):
    path, step = tmp_path / "in.wav", 2 * STEP_FRAMES * FRAME
    write_sound(path, sounds[SAID])
    path.write_bytes(path.read_bytes()[: 44 + 10 * step])
    text, error = written(programs["tones_step.onnx"], path)[1].splitlines()
    assert SAID.startswith(text)
    assert text
    assert error == f"error: {path}: the file ends before its samples do"


def test_a_recording_that_does_not_fit_is_refused(tones, tmp_path):
    wav(tmp_path / "long.wav", np.zeros(MOST + FRAME, np.int16))
    wav(tmp_path / "fast.wav", np.zeros(FRAME, np.int16), rate=16000)
    for name, why in (("long.wav", "the model hears at most 32,000"), ("fast.wav", "16000 samples a second")):
        with pytest.raises(DeployError, match=why):
            project_of(tones, "tones.onnx", "mps2-an386", tmp_path / "project", recording=tmp_path / name)


WRONG = {
    "no file": (None, "needs the texts of the model's labels"),
    "a file that is not there": ("", "cannot be read: No such file"),
    "too few": ("\n".join(TOKENS[:-1]), "the file has 27 tokens, the model 28 labels"),
    "an empty line": ("\n".join(["", *TOKENS[1:]]), "the line has no token"),
    "no blank": ("\n".join(["a", *TOKENS[1:]]), "no token is the blank"),
    "not UTF-8": (b"\xff", "not UTF-8"),
}


@pytest.mark.parametrize("name", WRONG)
def test_tokens_that_do_not_fit_are_refused(tones, tmp_path, name):
    content, why = WRONG[name]
    path = tmp_path / "tokens.txt"
    given = None if content is None else path
    if content:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(DeployError, match=why):
        project_of(tones, "tones_step.onnx", "host", tmp_path / "p", tokenizer=given)


def test_models_that_do_not_fit_are_refused(tones, tmp_path):
    words = {"app": "transcribe", "tokenizer": tones / "tokens.txt"}
    overlapping = FRONT.replace("frame_length=160", "frame_length=200")
    refused: dict[str, tuple[str, dict[str, Any]]] = {
        "frames of this front end overlap": ("tones_step.onnx", {"front": overlapping, "stream": True}),
        "compiled without --stream": ("tones.onnx", {"front": FRONT}),
        "needs sound, but this model has no front end": ("tones.onnx", {"stream": True}),
        "needs no back end, but this model has the back end classes": (
            "tones.onnx",
            {"front": FRONT, "stream": True, "back": "classes"},
        ),
        "has a window that slides": ("tones.onnx", {"front": FRONT, "stream": True, "slide": 4}),
    }
    for why, (model, options) in refused.items():
        made = deploy.compile(tones / model, board="host", **options)
        with pytest.raises(DeployError, match=why):
            deploy.new(made, tmp_path / "p", **words)
    made = compiled(tones, "tones.onnx", "host")
    with pytest.raises(DeployError, match="has no class names"):
        deploy.new(made, tmp_path / "p", class_names="a,b", **words)
    with pytest.raises(DeployError, match="supports the platforms baremetal and host, not zephyr"):
        deploy.new(compiled(tones, "tones.onnx", "nrf52840dk"), tmp_path / "p", platform="zephyr", **words)


def test_tokens_may_have_numbers_and_spaces_of_sentencepiece(tmp_path):
    path = tmp_path / "tokens.txt"
    path.write_text("<blk> 0\n\u2581 1\n\u2581THE 2\n\xc9 3\n", encoding="utf-8")
    read = read_label_texts(path, 4)
    assert (read.texts, read.blank) == ((b"", b" ", b" THE", "\xc9".encode()), 0)
    path.write_text("a 0\n<space>\n<pad>\n")
    read = read_label_texts(path, 3)
    assert (read.texts, read.blank) == ((b"a 0", b" ", b""), 2)
    path.write_text("\ufeff<blank>\r\n\u2028\r\n\x85", encoding="utf-8", newline="")
    read = read_label_texts(path, 3)
    assert (read.texts, read.blank) == ((b"", "\u2028".encode(), "\x85".encode()), 0)


@pytest.mark.parametrize("blank", [["<blk>"], []])
def test_pieces_are_those_of_sentencepiece(tmp_path, blank, require_package):
    """Without a blank among its pieces, the last label is the blank."""
    require_package("sentencepiece")
    import sentencepiece

    said = texts(400, 3)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(said),
        model_prefix=str(tmp_path / "tokenizer"),
        vocab_size=80,
        user_defined_symbols=blank,
        bos_id=-1,
        eos_id=-1,
        minloglevel=2,
    )
    path = tmp_path / "tokenizer.model"
    model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    count = model.vocab_size()
    read = read_label_texts(path, count + (not blank))
    assert read.blank == (model.piece_to_id("<blk>") if blank else count)
    assert read.texts[read.blank] == b""
    for text in said[:50]:
        joined = b"".join(read.texts[token] for token in model.encode(text)).decode()
        assert joined.removeprefix(" ") == text
    with pytest.raises(DeployError, match="tokens, the model 99 labels"):
        read_label_texts(path, 99)


@pytest.mark.slow
def test_texts_of_several_bytes_are_written_whole(tones, sounds, tmp_path, require_tool):
    """Letters beyond ASCII, quotes and signs that C reads in its own way."""
    require_tool("make")
    names = {"q": '"', "u": "\u2581\u2581", "i": "\xe9", "c": "\\7", "k": "??/", "x": "\u65e5\u672c"}
    path = tmp_path / "tokens.txt"
    path.write_text("".join(f"{names.get(token, token)}\n" for token in TOKENS), encoding="utf-8")
    program = built(project_of(tones, "tones_step.onnx", "host", tmp_path / "p", tokenizer=path))
    write_sound(tmp_path / "in.wav", sounds[SAID])
    wanted = "".join(names.get(letter, letter) for letter in SAID).replace("\u2581", " ")
    assert written(program, tmp_path / "in.wav") == (0, f"{wanted}\n")


def test_a_text_that_has_no_tones_is_refused(tmp_path, capsys):
    place = ("-o", str(tmp_path / "a.wav"))
    refused = {
        "lower-case letters and spaces": ("say", "Hello", *place),
        "--steps is at least 1": ("train", str(tmp_path), "--steps", "0"),
        "--seed is not negative": ("say", "hello", *place, "--seed", "-1"),
    }
    for why, words in refused.items():
        with pytest.raises(SystemExit):
            main(words)
        assert why in capsys.readouterr().err
    assert not any(tmp_path.iterdir())


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_sound_that_cannot_be_written_is_one_line(tmp_path, capsys):
    assert main(("say", "hello", "-o", str(tmp_path / "none" / "a.wav"))) == 1
    assert capsys.readouterr().err.count("\n") == 1


_COMMANDS = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.qemu
@pytest.mark.slow
def test_the_commands_of_the_tutorial_work(repo_root, tmp_path, require_tool):
    require_tool("arm-none-eabi-gcc", "qemu-system-arm")
    page = (repo_root / "docs" / "tutorials" / "sound-to-text.md").read_text(encoding="utf-8")
    printed = []
    for block in _COMMANDS.findall(page):
        for line in block.replace("\\\n", "").splitlines():
            program, *words = shlex.split(line)
            start = {"python": [sys.executable], "deploy": [sys.executable, "-m", "deploy"]}
            done = subprocess.run(
                [*start.get(program, [str(tmp_path / program)]), *words],
                capture_output=True,
                text=True,
                cwd=tmp_path,
                env={**os.environ, "PYTHONPATH": str(repo_root)},
                check=False,
            )
            assert done.returncode == 0, (line, done.stderr)
            printed.append(done.stdout)
    assert len(printed) == 10
    assert printed[5] == printed[-1] == f"{SAID}\n"
    (right,) = re.findall(r"(\d+) of 100 new texts", printed[0])
    assert int(right) >= 95
