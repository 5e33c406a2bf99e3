"""Models replaced in running firmware: on this machine and on every core that is emulated."""

import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cartridge_press import public_pem, write_key
from chain_model import chain
from error_facts import require_facts

import deploy
from codegen.job import import_model
from codegen.options import CompileOptions
from deploy.compiler.compile_model import Compiled
from deploy.devices.cartridge import read_cartridge
from deploy.devices.connection import OpenLine
from platforms.cartridge.code import cartridge_image
from platforms.cartridge.header import Identity, Needs, core_text, packed
from platforms.project import project_source
from platforms.rpc.failures import RequestRefusedError
from platforms.rpc.protocol import Message, Reset, Status

DIGITS = Path(deploy.__file__).parent / "demo" / "digits.tflite"
IMAGES = np.random.default_rng(1).integers(-128, 128, (3, 1, 8, 8, 1), np.int8)
EMULATED = {
    "mps2-an383": "unicorn",  # Cortex-M0+
    "mps2-an386": "qemu-system-arm",  # M4
    "mps3-an547": "qemu-system-arm",  # M55
    "qemu-riscv32": "qemu-system-riscv32",
}
MORE_CORES = {
    "mps2-an385": "qemu-system-arm",  # M3
    "mps2-an500": "qemu-system-arm",  # M7
    "mps2-an505": "qemu-system-arm",  # M33
}
BOARDS = [
    "host",
    *(pytest.param(board, marks=pytest.mark.qemu) for board in EMULATED),
    *(pytest.param(board, marks=[pytest.mark.qemu, pytest.mark.slow]) for board in MORE_CORES),
]

pytestmark = [pytest.mark.cc, pytest.mark.usefixtures("own_folders")]


@pytest.fixture
def ask_for(require_tool, require_package):
    def ask(board: str) -> None:
        if board == "host":
            require_tool("gcc")
            return
        require_tool("riscv64-unknown-elf-gcc" if "riscv" in board else "arm-none-eabi-gcc")
        emulator = {**EMULATED, **MORE_CORES}[board]
        (require_package if emulator == "unicorn" else require_tool)(emulator)

    return ask


@pytest.fixture
def opened(ask_for, tmp_path):
    """opened(board): firmware with digits built in and slots for others."""
    lines: list[OpenLine] = []

    def connect(board: str, **options: Any) -> OpenLine:
        ask_for(board)
        deploy.new(deploy.compile(DIGITS, board=board), tmp_path / "project", slots=24 * 1024, arena=4096)
        lines.append(deploy.connect(tmp_path / "project", **options))
        return lines[-1]

    yield connect
    for line in lines:
        line.close()


def answers(device: OpenLine) -> Any:
    (output,) = device.run(IMAGES).outputs.values()
    return output


def cartridge(compiled: Compiled, path: Path) -> Path:
    compiled.save_cartridge(path)
    return path


@pytest.mark.parametrize("board", BOARDS)
def test_a_cartridge_takes_the_models_place_and_a_bad_one_does_not(board, opened, tmp_path):
    device = opened(board)
    expected = deploy.load(DIGITS).run(IMAGES)["digit"]
    assert np.array_equal(answers(device), expected)
    streamed = cartridge(deploy.compile(DIGITS, board=board, stream=True), tmp_path / "streamed.cart")
    whole = cartridge(deploy.compile(DIGITS, board=board, optimize="size"), tmp_path / "whole.cart")
    for path in (streamed, whole, streamed):
        device.load(path)
        assert np.array_equal(answers(device), expected)
    damaged = bytearray(read_cartridge(whole))
    damaged[1000] ^= 1
    with pytest.raises(deploy.DeployError) as caught:
        device.load(bytes(damaged))
    assert "device rejected load: the cartridge is damaged: its SHA-256 is another" in str(caught.value)
    assert "hint: the previous model keeps running" in str(caught.value)
    assert np.array_equal(answers(device), expected)


def put(device: OpenLine, offset: int, data: bytes) -> None:
    """A piece of a cartridge as a stranger sends it: without a beginning."""
    with device._turn() as turn:
        turn.session._request(Message.CARTRIDGE_PUT, struct.pack("<I", offset) + data, "a stranger's piece")


def require_closed(device: OpenLine, evil: bytes) -> None:
    for offset in range(0, len(evil), 1000):
        with pytest.raises(RequestRefusedError) as refused:
            put(device, offset, evil[offset : offset + 1000])
        assert refused.value.status == Status.NO_UPDATE
    with device._turn() as turn, pytest.raises(RequestRefusedError) as refused:
        turn.session._request(Message.CARTRIDGE_SWAP, b"", "a stranger's swap")
    assert refused.value.status == Status.NO_UPDATE


@pytest.mark.parametrize("tables", [False, True], ids=["code", "tables"])
@pytest.mark.parametrize("board", ["host", pytest.param("mps2-an386", marks=pytest.mark.qemu)])
def test_a_stranger_writes_nothing_over_the_cartridge_that_runs(board, tables, ask_for, tmp_path):
    """Pieces without a beginning: after a swap into each slot, after a refusal, and first after a reset."""
    ask_for(board)
    compiled = deploy.compile(DIGITS, board=board, tables=tables)
    deploy.new(compiled, tmp_path / "project", slots=24 * 1024, arena=4096)
    good = read_cartridge(cartridge(compiled, tmp_path / "good.cart"))
    evil = good[:200] + bytes(byte ^ 0x5A for byte in good[200:])
    expected = deploy.load(DIGITS).run(IMAGES)["digit"]
    with deploy.connect(tmp_path / "project") as device:
        for slot in (1, 0):
            device.load(good)
            require_closed(device, evil)
            with pytest.raises(deploy.DeployError):
                device.load(evil)
            require_closed(device, evil)
            assert np.array_equal(answers(device), expected)
            with device._turn() as turn:
                assert turn.session.cartridges().slot == slot
                turn.session.reset(Reset.DEVICE)
                turn.session.hello()
                assert turn.session.cartridges().slot == slot
            require_closed(device, evil)
            assert np.array_equal(answers(device), expected)


def trained_again(path: Path, seed: int) -> Path:
    """The bundled model with other weights: its largest constant, found in the file's bytes."""
    graph = import_model(DIGITS, CompileOptions()).graph
    weights = max((a for a in graph.constants.values() if a.dtype == np.int8), key=lambda a: a.size)
    data, old = DIGITS.read_bytes(), weights.tobytes()
    assert data.count(old) == 1
    near = weights.astype(np.int64) + np.random.default_rng(seed).integers(-9, 10, weights.shape)
    path.write_bytes(data.replace(old, np.clip(near, -127, 127).astype(np.int8).tobytes()))
    return path


@pytest.mark.parametrize("board", BOARDS)
def test_weights_of_another_training_come_alone(board, ask_for, tmp_path):
    ask_for(board)
    first = deploy.compile(DIGITS, board=board, weights="external")
    again = trained_again(tmp_path / "again.tflite", 1)
    paths = [
        cartridge(first, tmp_path / "first.cart"),
        cartridge(deploy.compile(again, board=board, weights="external"), tmp_path / "again.cart"),
    ]
    wanted = [deploy.load(model).run(IMAGES)["digit"] for model in (DIGITS, again)]
    assert not np.array_equal(wanted[0], wanted[1])
    deploy.new(first, tmp_path / "project", slots=16 * 1024)
    with deploy.connect(tmp_path / "project") as device:
        with pytest.raises(
            deploy.DeployError, match="the model has no weights yet: they come with a cart"
        ) as no:
            answers(device)
        assert "hint: deploy load WEIGHTS.cart PROJECT   brings them" in str(no.value)
        other = deploy.compile(DIGITS, board=board, weights="external", stream=True)
        with pytest.raises(deploy.DeployError) as refused:
            device.load(cartridge(other, tmp_path / "other.cart"))
        assert "the cartridge is not of the structure that the firmware's model has" in str(refused.value)
        for place in (first, other):
            assert f'"weights {place.artifact.facts.structure}"' in str(refused.value)
        assert "hint: the model has no weights yet\n" in str(refused.value)
        assert "deploy diff FIRST.tar OTHER.tar   shows the difference" in str(refused.value)
        for which in (0, 1, 0):
            device.load(paths[which])
            assert np.array_equal(answers(device), wanted[which])
        with pytest.raises(deploy.DeployError, match="hint: the model keeps its previous weights"):
            device.load(tmp_path / "other.cart")
        assert np.array_equal(answers(device), wanted[0])


@pytest.mark.parametrize("board", BOARDS)
def test_a_table_runs_the_kernels_of_the_firmware(board, ask_for, tmp_path):
    """Shorter, longer and trained again: the firmware knows none of these models, but their kernels."""
    ask_for(board)
    models = [tmp_path / f"chain{n}.tflite" for n in range(4)]
    for path, (pairs, seed) in zip(models, ((2, 0), (1, 1), (4, 2), (2, 3)), strict=True):
        path.write_bytes(chain(pairs, seed))
    firmware, *others = (deploy.compile(model, board=board, tables=True, name="chain") for model in models)
    deploy.new(firmware, tmp_path / "project", slots=8 * 1024, arena=4096)
    images = np.random.default_rng(2).integers(-128, 128, (2, 1, 12, 12, 8), np.int8)
    with deploy.connect(tmp_path / "project") as device:
        for compiled, model in ((firmware, models[0]), *zip(others, models[1:], strict=True)):
            path = tmp_path / "other.cart"
            compiled.save_cartridge(path, firmware=tmp_path / "project")
            device.load(path)
            (wanted,) = deploy.load(model).run(images).values()
            (found,) = device.run(images).outputs.values()
            assert np.array_equal(found, wanted)
        with pytest.raises(deploy.DeployError) as refused:
            deploy.compile(DIGITS, board=board, tables=True).save_cartridge(
                tmp_path / "digits.cart", firmware=tmp_path / "project"
            )
        assert "kernels that the model needs\n" in str(refused.value)
        assert '  layer 1: conv2d, CONV_2D #0 "conv2d_0", ' in str(refused.value)
        assert "create firmware with them: deploy new --kernels THIS.tar" in str(refused.value)
        digits = cartridge(deploy.compile(DIGITS, board=board, tables=True), tmp_path / "digits.cart")
        with pytest.raises(deploy.DeployError, match="needs a kernel that the firmware does not have") as no:
            device.load(digits)
        assert "hint: the previous model keeps running\n" in str(no.value)
        assert "deploy compile --tables --cartridge --firmware DIR   lists these layers" in str(no.value)
        assert np.array_equal(next(iter(device.run(images).outputs.values())), wanted)


def test_firmware_lends_tables_the_kernels_of_other_models(ask_for, tmp_path):
    ask_for("host")
    (tmp_path / "chain.tflite").write_bytes(chain(2))
    first, digits = (
        deploy.compile(path, board="host", tables=True) for path in (tmp_path / "chain.tflite", DIGITS)
    )
    deploy.new(first, tmp_path / "project", slots=8 * 1024, arena=4096, kernels=[digits])
    digits.save_cartridge(tmp_path / "digits.cart", firmware=tmp_path / "project")
    with deploy.connect(tmp_path / "project") as device:
        device.load(tmp_path / "digits.cart")
        assert device.model.name == "digits"
        assert np.array_equal(answers(device), deploy.load(DIGITS).run(IMAGES)["digit"])


def test_the_command_makes_tables_and_says_what_firmware_is_not_for(ask_for, tmp_path, run_deploy):
    ask_for("host")
    archive, cart, project = (tmp_path / name for name in ("d.tar", "d.cart", "firmware"))
    for words in (
        ("compile", DIGITS, "--board", "host", "--tables", "-o", archive),
        ("new", archive, project, "--board", "host", "--slots", "8K"),
        ("compile", DIGITS, "--board", "host", "--tables", "--cartridge", "--firmware", project, "-o", cart),
    ):
        outcome = run_deploy(*words)
        assert outcome.status == 0, outcome
    said = run_deploy(
        "compile", DIGITS, "--board", "host", "--tables", "--firmware", project, "-o", archive
    ).err
    assert "--firmware applies to cartridges only" in said


def test_what_tables_are_not_for_is_said(tmp_path):
    plain = deploy.compile(DIGITS, board="host")
    tables = deploy.compile(DIGITS, board="host", tables=True, name="lent")

    def refused(call: Callable[..., object], *arguments: object, **more: Any) -> str:
        with pytest.raises(deploy.DeployError) as caught:
            call(*arguments, **more)
        return str(caught.value)

    project = tmp_path / "project"
    require_facts(
        refused(deploy.new, plain, project, slots=8192, kernels=[tables]),
        "--kernels --tables needs archives compiled",
    )
    require_facts(
        refused(deploy.new, tables, project, slots=8192, kernels=[plain]),
        "tables kernels digits deploy --tables",
    )
    require_facts(refused(deploy.new, tables, project, kernels=[tables]), "--slots kernels cartridges need")
    deploy.new(plain, project, slots=8192)
    path = tmp_path / "x.cart"
    require_facts(refused(tables.save_cartridge, path, firmware=project), "project's firmware support tables")
    require_facts(
        refused(plain.save_cartridge, path, firmware=project), "--firmware --tables applies models compiled"
    )


def test_slots_for_weights_say_what_they_are_not_for(tmp_path):
    first = deploy.compile(DIGITS, board="host", weights="external")
    plain = deploy.compile(DIGITS, board="host", name="plain")

    def refused(**more: Any) -> str:
        with pytest.raises(deploy.DeployError) as caught:
            deploy.new(first, tmp_path / "project", **more)
        return str(caught.value)

    need = 128 + first.artifact.facts.weights_bytes + 32
    require_facts(refused(slots=1024), "1,024 slot bytes hold")
    assert f"with header and hash {need:,}" in refused(slots=1024)
    assert "digits has external weights, so cartridges only replace these" in refused(
        slots=16 * 1024, arena=4096
    )
    assert "digits is not the only one" in refused(slots=16 * 1024, others=[plain])


@pytest.mark.parametrize("kind", ["ed25519", "p256"])
def test_a_signed_project_links_as_it_is_made(kind, ask_for, require_package, tmp_path):
    ask_for("host")
    require_package("cryptography")
    key, other = (write_key(tmp_path / f"{name}.pem", kind) for name in ("key", "other"))
    (tmp_path / "public.pem").write_bytes(public_pem(key))
    compiled = deploy.compile(DIGITS, board="host")
    deploy.new(compiled, tmp_path / "project", slots=24 * 1024, public_key=tmp_path / "public.pem")
    with deploy.connect(tmp_path / "project") as device:
        for signer in (None, other):
            compiled.save_cartridge(tmp_path / "no.cart", signer)
            with pytest.raises(
                deploy.DeployError, match="is not signed with the key that the firmware asks for"
            ):
                device.load(tmp_path / "no.cart")
        compiled.save_cartridge(tmp_path / "yes.cart", key)
        device.load(tmp_path / "yes.cart")
        assert np.array_equal(answers(device), deploy.load(DIGITS).run(IMAGES)["digit"])


@pytest.mark.qemu
def test_firmware_that_cannot_verify_refuses_all(ask_for, require_package, tmp_path):
    ask_for("mps2-an386")
    require_package("cryptography")
    key = write_key(tmp_path / "key.pem")
    compiled = deploy.compile(DIGITS, board="mps2-an386")
    made = deploy.new(compiled, tmp_path / "project", slots=24 * 1024, public_key=key)
    assert "signatures: you must write src/verify.c, which rejects every cartridge" in str(made)
    made = deploy.new(compiled, tmp_path / "m", slots=8192, public_key=key, verify="monocypher")
    assert "signatures: first copy monocypher.c and .h, monocypher-ed25519.c and .h" in str(made)
    compiled.save_cartridge(tmp_path / "signed.cart", key)
    with deploy.connect(tmp_path / "project") as device:
        with pytest.raises(
            deploy.DeployError, match="the firmware cannot verify signatures by its key"
        ) as no:
            device.load(tmp_path / "signed.cart")
        assert "deploy new --verify LIBRARY creates firmware that can" in str(no.value)


def test_a_library_for_signatures_needs_a_key_that_it_knows(require_package, tmp_path):
    require_package("cryptography")
    compiled = deploy.compile(DIGITS, board="host")
    p256 = write_key(tmp_path / "p256.pem", "p256")

    def refused(**more: Any) -> str:
        with pytest.raises(deploy.DeployError) as caught:
            deploy.new(compiled, tmp_path / "project", **more)
        return str(caught.value)

    assert "the library for signatures is for cartridges" in refused(verify="psa")
    assert "--verify psa needs a public key" in refused(slots=8192, verify="psa")
    assert "the library openssl is not supported" in refused(slots=8192, public_key=p256, verify="openssl")
    assert "monocypher cannot verify P-256 signatures" in refused(
        slots=8192, public_key=p256, verify="monocypher"
    )


def test_products_versions_and_the_way_back(ask_for, tmp_path):
    ask_for("host")
    compiled = deploy.compile(DIGITS, board="host")
    project = tmp_path / "project"
    deploy.new(compiled, project, slots=24 * 1024, product="door-sensor", model_version=2)

    def made(version: int, product: str = "door-sensor") -> Path:
        compiled.save_cartridge(tmp_path / "v.cart", product=product, model_version=version)
        return tmp_path / "v.cart"

    with deploy.connect(project) as device:
        with pytest.raises(deploy.DeployError) as other:
            device.load(made(3, "lamp"))
        require_facts(other.value, '"lamp" "door-sensor" cartridge product firmware')
        assert 'hint: deploy compile --cartridge --product "door-sensor"   creates one' in str(other.value)
        with pytest.raises(deploy.DeployError, match='is for no product, the firmware for the product "door'):
            device.load(made(3, ""))
        with pytest.raises(deploy.DeployError) as older:
            device.load(made(1))
        require_facts(older.value, "1 2 cartridge version older")
        require_facts(older.value, "deploy --cartridge --model-version 2 compile more firmware")
        with (
            device._turn() as turn,
            pytest.raises(deploy.DeployError, match="the cartridge is older than the model that runs"),
        ):
            turn.session.load_cartridge(read_cartridge(made(1)))  # past the host's own check
        with pytest.raises(deploy.DeployError, match="there is no cartridge to go back to"):
            device.load_previous()
        device.load(made(3))
        device.load(made(3))
        device.load_previous()
        with device._turn() as turn:
            assert turn.session.cartridges().slot == 1
            assert turn.session.cartridges().running == Identity("door-sensor", 3)
        device.load(made(4))
        with pytest.raises(
            deploy.DeployError, match="the cartridge is older than the model that runs"
        ) as back:
            device.load_previous()
        assert "that was made with deploy new --allow-downgrades" in str(back.value)
        assert np.array_equal(answers(device), deploy.load(DIGITS).run(IMAGES)["digit"])
    for wrong in (
        {"product": "a" * 28},
        {"product": 'a"'},
        {"model_version": -1},
        {"model_version": 1 << 32},
    ):
        with pytest.raises(
            deploy.DeployError, match=r"is not a valid product name|the model version must be"
        ):
            deploy.new(compiled, tmp_path / "wrong", slots=24 * 1024, **wrong)


def test_the_command_goes_back_where_firmware_allows_it(ask_for, tmp_path, run_deploy):
    ask_for("host")
    archive, project = tmp_path / "d.tar", tmp_path / "firmware"
    board = ("--board", "host")
    words = [
        ("compile", DIGITS, *board, "-o", archive),
        ("new", archive, project, *board, "--slots", "24K", "--product", "p", "--allow-downgrades"),
        *(
            (
                "compile",
                DIGITS,
                *board,
                "--cartridge",
                "--product",
                "p",
                "--model-version",
                n,
                "-o",
                tmp_path / n,
            )
            for n in ("7", "8")
        ),
        ("load", tmp_path / "7", project),
        ("load", tmp_path / "8", project),
        ("load", "--previous", project),
    ]
    said = [run_deploy(*each) for each in words]
    assert [each.status for each in said] == [0] * len(words), said
    assert said[-1].out == "digits runs on host now, digits ran before: slot 1, the cartridge before\n"
    both = run_deploy("load", tmp_path / "7", project, "--previous")
    assert "give a cartridge or --previous, one of the two" in both.err
    alone = run_deploy("compile", DIGITS, *board, "-o", archive, "--product", "p")
    assert "product and version apply to cartridges and to firmware with slots only" in alone.err


def test_what_does_not_fit_is_said_with_both_sides_numbers(opened, tmp_path, ask_for):
    device = opened("host")
    compiled = deploy.compile(DIGITS, board="host")
    source = project_source(compiled.artifact)
    (tmp_path / "c").mkdir()
    image = cartridge_image(source, compiled.board, tmp_path / "c")
    right = Needs(core_text(compiled.board.target), (900,), 16, 100, 0)
    for needs, said in (
        (
            replace(right, core="cortex-m4 dsp,fpu"),
            'it is for "cortex-m4 dsp,fpu", the firmware is for "host',
        ),
        (
            replace(right, arena_bytes=(5000,)),
            "it needs 5,000 bytes of arena and 100 of stack; the firmware has 4,096",
        ),
    ):
        with pytest.raises(deploy.DeployError, match=said):
            device.load(packed(image, needs, is_signed=False))
    with pytest.raises(
        deploy.DeployError, match="the cartridge has 30,000 bytes, a slot of the firmware 24,608"
    ):
        device.load(bytes(30_000))
    (tmp_path / "text.cart").write_text("hello" * 50)
    with pytest.raises(deploy.DeployError, match="this is not a cartridge"):
        device.load(tmp_path / "text.cart")
    with (
        deploy.connect(DIGITS, board="host") as other,
        pytest.raises(deploy.DeployError, match="this firmware has no slots for cartridges"),
    ):
        other.load(packed(image, right, is_signed=False))


def test_on_this_machine_a_cartridge_is_there_after_the_next_start(opened, tmp_path):
    device = opened("host")
    renamed = tmp_path / "renamed.tflite"
    renamed.write_bytes(DIGITS.read_bytes())
    device.load(cartridge(deploy.compile(renamed, board="host"), tmp_path / "renamed.cart"))
    assert device.model.name == "renamed"
    device.close()
    with deploy.connect(tmp_path / "project") as again:
        assert again.model.name == "renamed"
        assert np.array_equal(answers(again), deploy.load(DIGITS).run(IMAGES)["digit"])


@pytest.mark.qemu
def test_a_cartridge_that_hangs_or_crashes_is_rolled_back_by_the_reset(opened, tmp_path):
    device = opened("mps2-an386", deadline=2)
    before = answers(device)
    compiled = deploy.compile(DIGITS, board="mps2-an386")
    for number, (wrong, fault) in enumerate(
        (
            ("for (;;) { *(volatile int *)0x20000000; }", "watchdog reset"),
            ("__builtin_trap();", "usage fault"),
        )
    ):
        source = project_source(compiled.artifact)
        text = source.sources["digits_describe.c"].replace(
            "return digits_run(", f"{wrong}\n    return digits_run("
        )
        folder = tmp_path / str(number)
        folder.mkdir()
        bad = replace(source, sources={**source.sources, "digits_describe.c": text})
        needs = Needs(core_text(compiled.board.target), (900,), 16, 100, 1)
        with pytest.raises(deploy.DeployError, match=f"device crashed during load: {fault}"):
            device.load(packed(cartridge_image(bad, compiled.board, folder), needs, is_signed=False))
        assert np.array_equal(answers(device), before)


@pytest.mark.qemu
def test_commands_make_and_load_cartridges(ask_for, tmp_path, run_deploy):
    ask_for("mps2-an386")
    archive, cart, project, inputs = (tmp_path / name for name in ("d.tar", "d.cart", "firmware", "in.npz"))
    board = ("--board", "mps2-an386")
    np.savez(inputs, image=IMAGES[0])

    def said(*words: object) -> str:
        outcome = run_deploy(*words)
        assert outcome.status == 0, outcome
        return str(outcome.out)

    said("compile", DIGITS, *board, "-o", archive)
    assert said("compile", DIGITS, *board, "--cartridge", "-o", cart).startswith(
        f"{cart}: digits for mps2-an386"
    )
    said("new", archive, project, *board, "--slots", "24K")
    assert said("load", cart, project).startswith(
        "digits runs on mps2-an386 now, digits ran before: slot 1, "
    )
    ran = said("run", project, "--inputs", inputs, "--load", cart)
    assert "1 sample" in ran
    assert " cycles are available only for the model that the firmware was built with)" in ran
    weights, alone, other = (tmp_path / name for name in ("w.tar", "w.cart", "weights"))
    assert f"weights    {alone}, " in said("compile", DIGITS, *board, "--weights", "external", "-o", weights)
    again = ("--weights", "external", "--cartridge", "-o", cart)
    said("compile", trained_again(tmp_path / "again.tflite", 2), *board, *again)
    said("new", weights, other, *board, "--slots", "16K")
    for each in (alone, cart):
        assert said("load", each, other).startswith("digits on mps2-an386 has these weights now: slot 1, ")
    assert (
        "only cartridges are signed"
        in run_deploy("compile", DIGITS, *board, "-o", archive, "--sign", cart).err
    )
    standalone = ("--app", "standalone", "--slots", "24K")
    alone = run_deploy("new", archive, tmp_path / "x", *board, *standalone).err
    assert "need the server, which the app standalone does not have" in alone
    assert (
        "the arena is for cartridges"
        in run_deploy("new", archive, tmp_path / "x", *board, "--arena", "1K").err
    )
