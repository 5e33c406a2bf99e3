"""SentencePiece models: their tokens and texts in C are those of the package sentencepiece."""

import contextlib
import io
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from c_checks import SANITIZERS, WARNINGS
from story_models import SIZES, answers, greedy_by_onnx_runtime

import deploy
from aot.errors import DeployError
from deploy.demo.story_text import stories
from deploy.inputs.tokenizer import read_tokenizer
from platforms.chat_app import tokenizer_files

MOST_BYTES = 1023
OTHER_TEXTS = (
    "Gr\xfc\xdfe, \xe9t\xe9",
    "\u65e5\u672c \u65e5\u672c",
    "two  spaces   and more",
    "\U0001f600 \U0001f600!",
)
DEFAULTS: dict[str, Any] = {
    "vocab_size": 420,
    "hard_vocab_limit": False,
    "character_coverage": 0.999,
    "model_type": "bpe",
    "normalization_rule_name": "identity",
    "byte_fallback": True,
    "add_dummy_prefix": True,
    "remove_extra_whitespaces": False,
}
SYMBOLS = ["<sep>", "\u65e5\u672c", "\xe9t\xe9", "nc", "nce", "\u2581up", "e", "<", "\u8a9e", "pon"]
MODELS: dict[str, dict[str, Any]] = {
    "llama": {},
    "no space in front": {"add_dummy_prefix": False},
    "fewer spaces": {"remove_extra_whitespaces": True},
    "fewer spaces, none in front": {"remove_extra_whitespaces": True, "add_dummy_prefix": False},
    "unknown": {"byte_fallback": False, "vocab_size": 140, "unk_surface": " ?"},
    "unknown, fewer spaces": {"byte_fallback": False, "vocab_size": 140, "remove_extra_whitespaces": True},
    "spaces alone": {"allow_whitespace_only_pieces": True, "split_digits": True},
    "across words": {"split_by_whitespace": False},
    "symbols": {"user_defined_symbols": SYMBOLS},
    "symbols, fewer spaces": {"user_defined_symbols": SYMBOLS, "remove_extra_whitespaces": True},
    "symbols, unknown": {"user_defined_symbols": SYMBOLS, "byte_fallback": False, "vocab_size": 140},
    "nmt_nfkc": {"normalization_rule_name": "nmt_nfkc"},
    "nfkc, fewer spaces": {"normalization_rule_name": "nfkc", "remove_extra_whitespaces": True},
    "defaults": {
        "normalization_rule_name": "nmt_nfkc",
        "remove_extra_whitespaces": True,
        "byte_fallback": False,
    },
    "case folded": {"normalization_rule_name": "nmt_nfkc_cf", "add_dummy_prefix": False},
    "other controls": {"bos_id": 5, "eos_id": 3, "unk_id": 4, "bos_piece": "<begin>", "eos_piece": "<end>"},
}
CHANGED = (  # by rules: into one character, into several, into spaces, into none
    "e\u0301 \u1100\u1161 \uff34\uff49\uff4d",
    "\ufb01 \u2460 \ufdfa\ufdfa",
    "\u3000\u00a0 a\u3000 b\t",
    "\x01\x01 a\u200b\u00adb\ufffd",
    "\x01",
    " \u3000",
    "\u0301e",
)
TEXTS = (
    *("", " ", "   ", "a", "Once upon a time", " Once  upon   a ", "Lily  ", "Caf\xe9", *OTHER_TEXTS),
    *(
        "\u65e5\u672c\u8a9e \u8a9e\u8a9e",
        "\U0001f600\U0001f601 \U0001f468\u200d\U0001f469",
        "\u2581Once\u2581",
        " \u2581 ",
        "\u2581",
    ),
    *(
        "<s>Once</s>",
        "<sep>Once<sep><sep> upon<se>",
        "nc nce once up  up uponce",
        *CHANGED,
        "<unk>",
        "<0x41>",
        "tab\tend\n",
        "zero\0zero",
        "\x7f\x80\u07ff\u0800\ud7ff\uffff\U00010000\U0010ffff",
    ),
    *("O" * MOST_BYTES, "Once upon " * 102, "\xe9" * (MOST_BYTES // 2), " " * MOST_BYTES),
)
OF_STORIES: dict[str, Any] = {
    "vocab_size": SIZES.tokens,
    "hard_vocab_limit": True,
    "byte_fallback": False,
    "character_coverage": 0.98,
}
PROGRAM = """
#include <stdio.h>
#include "tokenizer.h"

static uint8_t line[TOKENIZER_MOST_BYTES];
static token_t tokens[TOKENIZER_MOST_TOKENS];

/* Each request is a count and that many bytes to encode; or, if the count is negative, tokens to decode. */
int main(void)
{
    int32_t count;

    while (fread(&count, sizeof count, 1, stdin) == 1) {
        if (count >= 0) {
            uint32_t unknown = 0;
            int32_t made;

            if (fread(line, 1, (size_t)count, stdin) != (size_t)count) {
                return 1;
            }
            made = tokenizer_encode(line, (uint32_t)count, tokens, &unknown);
            if (made == -2) {
                printf("too long");
            } else if (made < 0) {
                printf("not at %u", (unsigned)unknown);
            }
            for (int32_t i = 0; i < made; i++) {
                printf("%u ", (unsigned)tokens[i]);
            }
        } else {
            uint32_t spaces = TOKENIZER_HIDDEN_SPACES;

            for (token_t token; count < 0; count++) {
                uint32_t length;
                const uint8_t *text;

                if (fread(&token, sizeof token, 1, stdin) != 1) {
                    return 1;
                }
                text = tokenizer_text(token, &spaces, &length);
                for (uint32_t i = 0; i < length; i++) {
                    printf("%02x", text[i]);
                }
            }
        }
        printf("\\n");
    }
    return 0;
}
"""


def learned(path: Path, **choices: Any) -> Any:
    """Trains a model, writes its file and returns it as the package reads it."""
    import sentencepiece

    made = io.BytesIO()
    texts = [*stories(60, 1), *OTHER_TEXTS * 3]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=made,
        minloglevel=2,
        **(DEFAULTS | choices),
    )
    path.write_bytes(made.getvalue())
    return sentencepiece.SentencePieceProcessor(model_file=str(path))


def program_of(model: Path, folder: Path) -> Path:
    files = {**tokenizer_files(read_tokenizer(model)), "main.c": PROGRAM}
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    sources = [name for name in files if name.endswith(".c")]
    command = ["gcc", *WARNINGS, "-O1", *SANITIZERS, *sources, "-o", "tokenizer"]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder / "tokenizer"


def lines_of(program: Path, requests: list[bytes]) -> list[str]:
    done = subprocess.run([program], input=b"".join(requests), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().splitlines()


def in_c(program: Path, texts: list[bytes]) -> list[str]:
    return lines_of(program, [struct.pack("<i", len(text)) + text for text in texts])


def random_texts(count: int) -> list[str]:
    random = Random(3)
    parts = [
        *CHANGED,
        *CHANGED[0],
        *CHANGED[2],
        *" ".join(stories(5, 9)).split(" "),
        *TEXTS[:24],
        *"\u2581 .Ze\u20ac\xdf",
        " ",
        " ",
        "  ",
    ]
    made = ["".join(random.choices(parts, k=random.randrange(1, 12))) for _ in range(count)]
    return [text for text in made if len(text.encode()) <= MOST_BYTES]


@pytest.mark.cc
@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@pytest.mark.parametrize("name", MODELS)
def test_tokens_and_texts_are_those_of_sentencepiece(name, kind, tmp_path, require_package):
    require_package("sentencepiece")
    model = learned(tmp_path / "tokenizer.model", **{"model_type": kind, **MODELS[name]})
    program = program_of(tmp_path / "tokenizer.model", tmp_path)
    texts = [*TEXTS, *random_texts(1000)]
    wanted = [model.encode(text) for text in texts]
    found = [list(map(int, line.split())) for line in in_c(program, [text.encode() for text in texts])]
    assert [pair for pair in zip(texts, found, wanted, strict=True) if pair[1] != pair[2]] == []

    random = Random(4)
    whole = [token for token in range(model.vocab_size()) if not model.is_byte(token)]
    sequences = [
        *filter(None, wanted),
        *(random.choices(whole, k=random.randrange(1, 9)) for _ in range(300)),
    ]
    sequences += [[token, *sequence] for token in range(model.vocab_size()) for sequence in wanted[4:5]][:600]
    sequences = [each for each in sequences if "\ufffd" not in model.decode(each)]
    requests = [struct.pack(f"<i{len(each)}H", -len(each), *each) for each in sequences]
    written = [bytes.fromhex(line).decode() for line in lines_of(program, requests)]
    assert written == [model.decode(each) for each in sequences]


@pytest.mark.cc
def test_prompts_that_rules_make_too_long_are_refused(tmp_path, require_package):
    require_package("sentencepiece")
    learned(tmp_path / "tokenizer.model", normalization_rule_name="nmt_nfkc")
    program = program_of(tmp_path / "tokenizer.model", tmp_path)
    long, most = ("\ufdfa".encode() * count for count in (40, 25))  # 33 bytes of each three
    (refused, _), found = in_c(program, [long, b"a"]), in_c(program, [most])
    assert refused == "too long"
    assert found[0] != "too long"


@pytest.mark.cc
def test_ties_are_decided_as_sentencepiece_does(tmp_path, require_package):
    """Few scores make many; their sums are equal only after rounding."""
    require_package("sentencepiece")
    import sentencepiece

    random = Random(5)
    for number in range(8):
        letters = ["a", "b", "\u2581", "\xe9"]
        parts = {"".join(random.choices(letters, k=random.randrange(1, 6))) for _ in range(25)}
        scores = [-0.1, -0.2, -0.3, -0.7, -1.1] if number % 4 < 2 else [-1.0, -2.0]
        pieces = [piece(part, random.choice(scores)) for part in sorted(parts)]
        content = file_of([*SPECIAL, *pieces], model_type=1 + number % 2)
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "tokenizer.model").write_bytes(content)
        model = sentencepiece.SentencePieceProcessor(model_proto=content)
        texts = ["".join(random.choices(["a", "b", " ", "\xe9", "c"], k=30)) for _ in range(200)]
        program = program_of(folder / "tokenizer.model", folder)
        found = [list(map(int, line.split())) for line in in_c(program, [text.encode() for text in texts])]
        assert found == [model.encode(text) for text in texts], number


def number(value: int) -> bytes:
    """A number of a protocol buffer: seven bits a byte, the lowest first."""
    low = value & 0x7F
    return bytes([low | 0x80]) + number(value >> 7) if value >> 7 else bytes([low])


def with_bytes(name: int, content: bytes) -> bytes:
    return number(name << 3 | 2) + number(len(content)) + content


def with_number(name: int, value: int) -> bytes:
    return number(name << 3) + number(value)


def piece(text: str, score: float = 0.0, kind: int = 1) -> bytes:
    own = with_bytes(1, text.encode()) + number(2 << 3 | 5) + struct.pack("<f", score)
    return with_bytes(1, own + with_number(3, kind))


SPECIAL = (piece("<unk>", kind=2), piece("<s>", kind=3), piece("</s>", kind=3))
PLAIN = (*SPECIAL, piece("\u2581", -1.0), piece("a", -2.0), piece("\u2581a", -0.5))


def file_of(
    pieces: Sequence[bytes] = PLAIN, *, model_type: int = 2, trainer: bytes = b"", normalizer: bytes = b""
) -> bytes:
    settings = with_bytes(2, with_number(3, model_type) + trainer) + with_bytes(3, normalizer)
    return b"".join(pieces) + settings


BAD_FILES = {
    "none": (None, "the tokenizer cannot be read: No such file"),
    "empty": (b"", "it has 0 pieces, and 0 of 2 parts"),
    "another kind": (b'{"model": {"type": "BPE"}}', "damaged: byte 0 begins no field|only .* follow"),
    "no settings": (b"".join(PLAIN), "it has 6 pieces, and 0 of 2 parts"),
    "an end too early": (file_of()[:-1], "the number at byte .* does not end"),
    "a length beyond the end": (file_of() + b"\x12\x7f1", "has 127 bytes, only 1 follow"),
    "an endless number": (file_of() + b"\xff" * 20, "the number at byte .* does not end"),
    "no UTF-8": (
        file_of([*PLAIN, with_bytes(1, with_bytes(1, b"\xff"))]),
        "the text at byte .* is not UTF-8",
    ),
    "rules without results": (
        file_of(normalizer=with_bytes(2, struct.pack("<II", 4, 0))),
        "its rules have 8 bytes, an array of 4 ",
    ),
    "a result in a character": (
        file_of(normalizer=with_bytes(2, struct.pack("<II", 4, 1 << 31 | 1) + b"\xc3\xa9\0")),
        "no result of its rules begins at 1",
    ),
    "a result of no character": (
        file_of(normalizer=with_bytes(2, struct.pack("<II", 4, 0) + b"\xc3\0")),
        "results of its rules are not UTF-8",
    ),
    "rules and symbols": (
        file_of([*PLAIN, piece("b", kind=4)], normalizer=with_bytes(2, struct.pack("<II", 4, 0) + b"\0")),
        "not supported: rules that change characters, and 1 user-defined pieces",
    ),
    "a piece without text": (file_of([*PLAIN, piece("")]), "piece 6 has text ''"),
    "a score that is no number": (file_of([*PLAIN, piece("b", float("nan"))]), "piece 6 has .* score nan"),
    "a score of two bytes": (
        file_of([*PLAIN, with_bytes(1, with_bytes(1, b"b") + with_bytes(2, b"12"))]),
        "the score of piece 6 is no float",
    ),
    "an unknown type": (file_of([*PLAIN, piece("b", kind=7)]), "piece 6 has .* type 7"),
    "a piece twice": (file_of([*PLAIN, piece("a")]), "2 pieces have the text 'a'"),
    "two for unknown text": (file_of([*PLAIN, piece("b", kind=2)]), "2 pieces stand for unknown text"),
    "no text": (file_of(SPECIAL), "no piece has text"),
    "no begin": (file_of([SPECIAL[0], *PLAIN[2:]]), "no control piece that begins a text"),
    "bytes without pieces": (file_of(trainer=with_number(35, 1)), "0 of 256 bytes have pieces"),
    "too many": (
        file_of([*PLAIN, *(piece(f"{number}") for number in range(1 << 16))]),
        "more than 65,535 pieces",
    ),
    "words": (file_of(model_type=3), "not supported: model type word"),
    "rules": (file_of(normalizer=with_bytes(2, b"rules")), "its rules have 5 bytes"),
    "rules of decoding": (file_of() + with_bytes(5, with_bytes(2, b"r")), "rules that change characters"),
    "several": (
        file_of([*PLAIN, piece("b", kind=4), piece("c", kind=5)], trainer=with_number(24, 1)),
        "not supported: spaces after words, 1 unused pieces",
    ),
    "plain spaces": (file_of(normalizer=with_number(5, 0)), "not supported: spaces that are not escaped"),
    "a plain space": (file_of([*PLAIN, piece("a a")]), "not supported: pieces with plain spaces"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_file_that_is_damaged_or_not_supported_is_refused(name, tmp_path):
    content, wanted = BAD_FILES[name]
    path = tmp_path / "tokenizer.model"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DeployError, match=wanted) as caught:
        read_tokenizer(path)
    assert caught.value.where == str(path)
    assert caught.value.hint


def test_every_part_of_a_file_and_every_changed_byte_is_read_or_refused(tmp_path):
    path, content = tmp_path / "tokenizer.model", file_of(trainer=with_bytes(46, b"<s>"))
    path.write_bytes(content)
    assert len(read_tokenizer(path).texts) == len(PLAIN)
    for end in range(len(content) - 1):  # the last field has no content
        path.write_bytes(content[:end])
        with pytest.raises(DeployError):
            read_tokenizer(path)
    random = Random(6)
    for place in range(len(content)):
        for value in random.sample(range(256), 12):
            path.write_bytes(content[:place] + bytes([value]) + content[place + 1 :])
            with contextlib.suppress(DeployError):
                read_tokenizer(path)


@pytest.mark.cc
def test_the_first_byte_that_is_not_utf_8_is_named(tmp_path):
    (tmp_path / "tokenizer.model").write_bytes(file_of())
    program = program_of(tmp_path / "tokenizer.model", tmp_path)
    random = Random(7)
    starts = (b"", b"a ", b"\xc3\xa9", b"\xe2\x96\x81")
    ends = [bytes(random.choices((*range(0x7F, 0x100, 3), 0x80, 0xBF, 0xED, 0xF4), k=4)) for _ in range(300)]
    ends += [
        b"\xc0\x80",
        b"\xe0\x9f\xbf",
        b"\xed\xa0\x80",
        b"\xf0\x8f\xbf\xbf",
        b"\xf4\x90\x80\x80",
        b"\xc3",
        b"\xf0\x9f\x98",
    ]
    wanted = {}
    for text in (start + end for start in starts for end in ends):
        try:
            text.decode()
        except UnicodeDecodeError as error:
            wanted[text] = f"not at {error.start}"
    assert in_c(program, list(wanted)) == list(wanted.values())


PROMPTS = ("Once upon a", "", " Lily", "\xe9Zoe")


def wanted_answer(folder: Path, model: Any, prompt: str) -> str:
    begun = [model.bos_id(), *model.encode(prompt)]
    made = greedy_by_onnx_runtime(folder, begun)[len(begun) :]
    ends = [place for place, token in enumerate(made) if token in (model.bos_id(), model.eos_id())]
    after = "" if ends else f"(ended: all {SIZES.positions} positions are used)\n"
    told = made[: ends[0]] if ends else made
    before = model.decode(begun[1:])
    return prompt + model.decode([*begun[1:], *told])[len(before) :] + "\n" + after


def chat_of(folder: Path, board: str, place: Path) -> Path:
    compiled = deploy.compile(folder / "stories.onnx", board=board, state="auto")
    deploy.new(compiled, place, board, app="chat", tokenizer=folder / "tokenizer.model")
    return place


@pytest.mark.cc
@pytest.mark.parametrize(("kind", "rules"), [("bpe", "identity"), ("unigram", "nmt_nfkc")])
def test_the_program_answers_as_onnx_runtime_and_sentencepiece(
    trained, kind, rules, tmp_path, require_package
):
    require_package("sentencepiece")
    model = learned(trained / "tokenizer.model", model_type=kind, normalization_rule_name=rules, **OF_STORIES)
    project = chat_of(trained, "host", tmp_path / "chat")
    *found, too_long, refused = answers(project, *PROMPTS, "\ufdfa".encode() * 40, b"Once \xc3(")
    assert found == [wanted_answer(trained, model, prompt) for prompt in PROMPTS]
    is_replaced = "too long after the tokenizer has replaced its characters" in too_long
    assert is_replaced == (rules == "nmt_nfkc")
    assert refused == "error: the prompt is not UTF-8: byte 195 at place 6 of the prompt\n"


@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@pytest.mark.parametrize("board", ["mps2-an386", "qemu-riscv32"])
def test_boards_answer_as_onnx_runtime_and_sentencepiece(
    trained, kind, board, tmp_path, require_package, require_tool
):
    require_package("sentencepiece")
    require_tool("riscv64-unknown-elf-gcc" if "riscv" in board else "arm-none-eabi-gcc")
    require_tool("qemu-system-riscv32" if "riscv" in board else "qemu-system-arm")
    model = learned(trained / "tokenizer.model", model_type=kind, **OF_STORIES)
    project = chat_of(trained, board, tmp_path / "chat")
    assert answers(project, *PROMPTS) == [wanted_answer(trained, model, prompt) for prompt in PROMPTS]


def test_more_pieces_than_logits_are_refused(trained, tmp_path):
    (trained / "tokenizer.model").write_bytes(file_of([*PLAIN, *(piece(f"{n}") for n in range(100, 170))]))
    with pytest.raises(DeployError, match="the tokenizer has 76 tokens, the model 64 logits"):
        chat_of(trained, "host", tmp_path / "chat")
