"""PyTorch modules in one call: tests that need PyTorch are skipped where it is not installed."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from error_facts import require_facts

import deploy
from benchmarks.pytorch import compiled_network, conversion_of
from benchmarks.pytorch_networks import NETWORKS
from deploy.frameworks.compile_framework_model import CompiledModule, Conversion
from deploy.frameworks.judging import Judgement

DEMO = Path(deploy.__file__).parent / "demo"
EXAMPLE = (1, 1, 8, 8)


class FakeModule:
    """What counts as a module where PyTorch is not installed."""

    def forward(self, image: Any) -> Any:
        return image

    def __call__(self) -> None:
        """Never called here: a module computes its outputs by it."""


@pytest.fixture
def module(monkeypatch):
    """A module of a PyTorch that is not there."""
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(nn=SimpleNamespace(Module=FakeModule)))
    return FakeModule()


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no example": (
        {},
        "a module of PyTorch is exported with an example of its input\n"
        "  hint: deploy.compile(module, board=..., example=torch.zeros(1, 3, 32, 32))",
    ),
    "the shape of an example": (
        {"example": EXAMPLE},
        "the example is numbers, (1, 1, 8, 8), but an input is needed, not its shape\n"
        "  example\n"
        "  hint: example=torch.zeros(1, 3, 32, 32), with your shape",
    ),
    "labels alone": (
        {"example": np.zeros(EXAMPLE), "labels": [0]},
        "labels need calibration samples\n  hint: pass calibration=samples (the first axis counts them)",
    ),
    "a loss without samples": (
        {"example": np.zeros(EXAMPLE), "signal_to_noise": 30},
        "signal to noise needs calibration samples\n"
        "  hint: pass calibration=samples (the first axis counts them)",
    ),
    "labels behind a back end": (
        {"example": np.zeros(EXAMPLE), "labels": [0], "calibration": np.zeros(EXAMPLE), "back": "classes"},
        "labels are compared with the module's outputs, which a front or back end changes\n"
        "  hint: omit the labels, or the front and back end",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_makes_no_sense_is_reported(name, module):
    words, text = WRONG[name]
    with pytest.raises(deploy.DeployError) as caught:
        deploy.compile(module, "host", **words)
    assert str(caught.value) == f"error: {text}"


@pytest.mark.parametrize("word", ["example", "calibration", "labels", "signal_to_noise", "activation_type"])
def test_files_have_none_of_these_words(word):
    given: dict[str, Any] = {word: np.zeros(1)}
    with pytest.raises(deploy.DeployError) as caught:
        deploy.compile(DEMO / "digits.tflite", "host", **given)
    assert "apply to framework models" in str(caught.value)
    assert "deploy.quantize" in str(caught.value)


def test_weights_alone_are_not_called_a_file_with_options_too_many(tmp_path):
    (tmp_path / "net.pt").write_bytes(b"weights")
    wrong: tuple[tuple[Any, str], ...] = (
        (tmp_path / "net.pt", "load_state_dict"),
        ({"weight": 1}, "not a dict"),
    )
    for model, wanted in wrong:
        with pytest.raises(deploy.DeployError) as caught:
            deploy.compile(model, "host", example=np.zeros(EXAMPLE))
        assert wanted in str(caught.value)


def test_a_float_conversion_is_reported_in_a_line():
    told = str(Conversion("PyTorch", Judgement(2.5e-7, 1e-3, 4), None, None, None, None))
    assert told == (
        "exported      outputs differ from PyTorch's by 2.5e-07 at most, 4 inputs "
        "(allowed: 0.1% of the largest)"
    )


def test_what_stays_in_floats_is_reported(require_package):
    """A recurrent layer does: the page does not call its network int8 without saying so."""
    torch = pytest.importorskip("torch")
    require_package("onnxruntime")
    torch.manual_seed(0)
    network, _ = networks(torch)["a GRU"]
    samples = torch.randn(12, 9, 6)
    compiled = deploy.compile(network, "host", example=samples[:1], calibration=samples)
    assert isinstance(compiled, CompiledModule)
    assert compiled.conversion is not None
    shares = compiled.conversion.macs_in_floats
    assert {*shares} == {"recurrent", "conv2d"}
    assert 0.9 < sum(shares.values()) < 1
    assert "% of the multiplications stay in floats: recurrent, conv2d" in str(compiled)


def digits() -> tuple[Any, Any]:
    images = np.load(DEMO / "digits_test.npz")["image"].reshape(-1, *EXAMPLE[1:])
    return (images.astype(np.float32) + 128) / 255, np.load(DEMO / "digits_labels.npy").astype(np.int64)


def trained(torch: Any) -> Any:
    """A small network that reads digits, still in training mode."""
    torch.manual_seed(0)
    nn = torch.nn
    network = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(256, 10),
    )
    images, labels = (torch.from_numpy(array[:260]) for array in digits())
    optimiser = torch.optim.Adam(network.parameters(), 0.01)
    for _ in range(60):
        optimiser.zero_grad()
        nn.functional.cross_entropy(network(images), labels).backward()
        optimiser.step()
    return network


@pytest.mark.arm
@pytest.mark.slow
def test_a_network_keeps_its_accuracy_up_to_the_emulated_board():
    torch = pytest.importorskip("torch")
    network, (images, labels) = trained(torch), digits()
    compiled = deploy.compile(
        network,
        "mps2-an386",
        example=torch.zeros(EXAMPLE),
        calibration=torch.from_numpy(images[260:]),
        labels=labels[260:],
    )
    assert isinstance(compiled, CompiledModule)
    conversion = compiled.conversion
    assert conversion is not None
    assert network.training, "its mode is as it was"
    assert conversion.distance < 1e-4
    assert conversion.framework_right is not None
    assert conversion.framework_right > 0.9
    assert conversion.verdict is not None
    assert conversion.verdict.equal
    assert conversion.board_right is not None
    assert conversion.board_right > conversion.framework_right - 0.03
    assert "the same bits" in str(compiled)
    assert "signal to noise" in str(compiled)
    assert conversion.quantized is not None
    assert len(conversion.quantized.refinements) == 4
    assert "refined       " in str(conversion)


@pytest.mark.slow
def test_four_bits_stay_only_if_the_network_takes_less_flash():
    torch = pytest.importorskip("torch")
    network, (images, _) = trained(torch), digits()
    given: dict[str, Any] = {"example": torch.zeros(EXAMPLE), "calibration": torch.from_numpy(images[260:])}
    compiled = deploy.compile(network, "mps2-an386", signal_to_noise=5, **given)
    assert isinstance(compiled, CompiledModule)
    assert compiled.conversion is not None
    assert compiled.conversion.narrow is not None
    narrow = compiled.conversion.narrow
    assert (narrow.layers > 0) is (narrow.after_bytes < narrow.before_bytes)
    assert narrow.layers < 3, "of a convolution with one input channel no kernel stores nibbles"
    assert str(narrow) in str(compiled)


def networks(torch: Any) -> dict[str, tuple[Any, tuple[int, ...]]]:
    """Networks of several kinds and the shape of their input."""
    nn = torch.nn

    class LastState(nn.Module):  # type: ignore[misc,name-defined]  # PyTorch has no types here
        """The class of a sequence, by the last state of a recurrent layer."""

        def __init__(self, layer: Any) -> None:
            super().__init__()
            self.layer, self.head = layer, nn.Linear(12, 3)

        def forward(self, features: Any) -> Any:
            return self.head(self.layer(features)[0][:, -1])

    return {
        "sound by convolutions of one dimension": (
            nn.Sequential(
                nn.Conv1d(6, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(8, 3)
            ),
            (1, 6, 20),
        ),
        "a GRU": (LastState(nn.GRU(6, 12, batch_first=True)), (1, 9, 6)),
        "an LSTM": (LastState(nn.LSTM(6, 12, batch_first=True)), (1, 9, 6)),
        "a small picture smaller and larger again": (
            nn.Sequential(
                nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ReLU(), nn.ConvTranspose2d(8, 2, 2, stride=2)
            ),
            (1, 3, 8, 8),
        ),
        "a layer of a transformer": (
            nn.TransformerEncoderLayer(12, 2, 24, batch_first=True),
            (1, 5, 12),
        ),
    }


@pytest.mark.slow
def test_networks_of_several_kinds_compute_what_pytorch_computes():
    torch = pytest.importorskip("torch")
    torch.manual_seed(1)
    for name, (network, shape) in networks(torch).items():
        compiled = deploy.compile(network, "host", example=torch.randn(shape))
        assert isinstance(compiled, CompiledModule)
        assert compiled.conversion is not None
        assert compiled.conversion.distance < 1e-4, name


def test_what_pytorch_cannot_export_is_reported():
    torch = pytest.importorskip("torch")

    class Strange(torch.nn.Module):  # type: ignore[misc,name-defined]  # PyTorch has no types here
        """Does what no exporter knows."""

        def forward(self, x: Any) -> Any:
            return torch.linalg.svd(x)[1]

    with pytest.raises(deploy.DeployError) as caught:
        deploy.compile(Strange(), "host", example=torch.zeros(3, 3))
    require_facts(
        caught.value, f"PyTorch export module test_torch.py {Strange.forward.__code__.co_firstlineno + 1}"
    )


def refused(torch: Any) -> dict[str, tuple[Any, str, int]]:
    """Modules that no graph stands for: the module, the error's first line, the line in forward."""
    nn = torch.nn

    class Branches(nn.Module):  # type: ignore[misc,name-defined]  # PyTorch has no types here
        """Takes another way for other values."""

        def forward(self, x: Any) -> Any:
            y = x * 2
            return y if y.sum() > 0 else y - 1

    class Reads(nn.Module):  # type: ignore[misc,name-defined]  # PyTorch has no types here
        """Makes a number of Python's of its input."""

        def forward(self, x: Any) -> Any:
            return x * float(x.max())

    class Counts(nn.Module):  # type: ignore[misc,name-defined]  # PyTorch has no types here
        """Keeps a number of Python's."""

        def __init__(self) -> None:
            super().__init__()
            self.calls = 0

        def forward(self, x: Any) -> Any:
            self.calls += 1
            return x * self.calls

    value = "the model's control flow depends on its input values, which compiled code does not support"
    again = (
        "PyTorch returns different outputs for the same input: the model keeps 1.calls from one call to "
        "the next"
    )
    return {
        "a branch": (Branches(), value, 2),
        "a value": (Reads(), value, 1),
        "a number": (Counts(), again, 1),
    }


@pytest.mark.parametrize("name", ["a branch", "a value", "a number"])
def test_what_depends_on_more_than_the_graph_is_refused_with_its_line(name):
    torch = pytest.importorskip("torch")
    part, what, line = refused(torch)[name]
    network = torch.nn.Sequential(torch.nn.Linear(4, 4), part)
    with pytest.raises(deploy.DeployError) as caught:
        deploy.compile(network, "host", example=torch.zeros(1, 4))
    line += type(part).forward.__code__.co_firstlineno
    head, where, hint, *_ = str(caught.value).splitlines()
    assert head == f"error: {what}"
    assert where == f"  Sequential, module 1 ({type(part).__name__}), test_torch.py, line {line}"
    assert ("torch.where" if what.startswith("the model's control flow") else "register_buffer") in hint


def stateful(torch: Any) -> dict[str, tuple[Any, tuple[int, ...], set[str]]]:
    """Modules that change buffers: the module, the shape of its input, the buffers that are states."""
    nn = torch.nn

    class Mixes(nn.Module):  # type: ignore[misc,name-defined]  # PyTorch has no types here
        """Returns its state, which does not begin at zero; a number that nothing reads is no state."""

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("x", torch.full((1, 4), 0.25))  # named like the input
            self.register_buffer("calls", torch.zeros(1))
            self.mix = nn.Linear(4, 4)

        def forward(self, x: Any) -> Any:
            self.calls += 1
            self.x.mul_(0.5).add_(self.mix(x))
            return self.x

    class Waits(nn.Module):  # type: ignore[misc,name-defined]  # PyTorch has no types here
        """Assigns a new tensor, by a counter that no output reads itself."""

        h: Any

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.tensor(3), persistent=False)
            self.register_buffer("h", torch.zeros(1, 4))

        def forward(self, x: Any) -> Any:
            old, self.h = self.h, torch.where(self.count % 4 == 0, x, self.h)
            self.count += 1
            return old * 2

    class Window(nn.Module):  # type: ignore[misc,name-defined]  # PyTorch has no types here
        """A convolution over the rows that came last."""

        past: Any

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("past", torch.randn(1, 3, 4, 5))
            self.filter = nn.Conv2d(3, 2, 3)

        def forward(self, x: Any) -> Any:
            self.past = torch.cat([self.past[:, :, 1:], x], 2)
            return self.filter(self.past)

    class Cache(nn.Module):  # type: ignore[misc,name-defined]  # PyTorch has no types here
        """Writes rows in a ring at a position."""

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("rows", torch.zeros(8, 4))
            self.register_buffer("at", torch.tensor(0))

        def forward(self, x: Any) -> Any:
            self.rows.index_copy_(0, self.at.reshape(1), x)
            self.at.copy_((self.at + 1) % 8)
            return torch.softmax(self.rows @ x.T, 0)

    return {
        "a state that is returned": (Mixes(), (1, 4), {"x_state"}),
        "a state that depends on another": (
            nn.Sequential(nn.Linear(4, 4), Waits()),
            (1, 4),
            {"1.h", "1.count"},
        ),
        "the rows of a window": (Window(), (1, 3, 1, 5), {"past"}),
        "a cache with a position": (Cache(), (1, 4), {"rows", "at"}),
    }


@pytest.mark.cc
@pytest.mark.parametrize(
    ("name", "is_program"),
    [
        ("a state that is returned", False),
        ("a state that is returned", True),
        ("a state that depends on another", False),
        ("the rows of a window", False),
        ("a cache with a position", False),
        ("a cache with a position", True),
    ],
)
def test_buffers_that_forward_changes_are_states(name, is_program, tmp_path, require_package):
    torch = pytest.importorskip("torch")
    require_package("onnxruntime")
    torch.manual_seed(2)
    network, shape, states = stateful(torch)[name]
    given = torch.export.export(network.eval(), (torch.zeros(shape),)) if is_program else network
    before = {name: buffer.clone() for name, buffer in network.named_buffers()}
    compiled = deploy.compile(given, "host", example=torch.randn(shape))
    assert {state.name for state in compiled.job.model.graph.states} == states
    assert all(torch.equal(buffer, before[name]) for name, buffer in network.named_buffers()), "as it was"

    path, samples = tmp_path / "module.onnx", torch.randn(24, *shape)
    path.write_bytes(compiled.job.model.file)
    assert deploy.verify(path, "host", inputs=samples.numpy(), oracle="ort").equal
    with torch.no_grad():
        wanted = [network(sample).clone().numpy() for sample in samples]
    host = deploy.in_process(path)
    for _ in range(2):
        host.reset()
        made = [next(iter(host.run(sample.numpy()).values())) for sample in samples]
        np.testing.assert_allclose(np.stack(made), np.stack(wanted), rtol=1e-5, atol=1e-5)


def test_a_module_with_states_is_calibrated_on_a_sequence(tmp_path, require_package):
    torch = pytest.importorskip("torch")
    require_package("onnxruntime")
    torch.manual_seed(3)
    network, shape, _ = stateful(torch)["the rows of a window"]
    samples = torch.randn(60, *shape)
    compiled = deploy.compile(network, "host", example=samples[0], calibration=samples)
    assert isinstance(compiled, CompiledModule)
    assert compiled.conversion is not None
    quantized = compiled.conversion.quantized
    assert quantized is not None
    assert quantized.states == {"past": "int8"}
    assert quantized.sequence_db is not None
    assert quantized.sequence_db > 30
    assert f"states        past int8; outputs, signal to noise: {quantized.sequence_db:.1f} dB" in str(
        compiled
    )
    (state,) = compiled.job.model.graph.states
    assert str(state.initial.dtype) == "int8"
    with torch.no_grad():
        wanted = np.stack([network(sample).clone().numpy() for sample in samples])
    host = deploy.in_process(compiled)
    made = np.stack([next(iter(host.run(sample.numpy()).values())) for sample in samples])
    noise = ((made - wanted) ** 2).sum() / (wanted**2).sum()
    assert -10 * np.log10(noise) > 30


def test_a_buffer_that_grows_is_no_state():
    torch = pytest.importorskip("torch")

    class Grows(torch.nn.Module):  # type: ignore[misc,name-defined]  # PyTorch has no types here
        """Keeps all rows."""

        rows: Any

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("rows", torch.zeros(1, 4))

        def forward(self, x: Any) -> Any:
            self.rows = torch.cat([self.rows, x])
            return self.rows.sum(0)

    with pytest.raises(deploy.DeployError, match="the model keeps rows from one call to the next"):
        deploy.compile(Grows(), "host", example=torch.zeros(1, 4))


def test_what_is_kept_but_changes_no_output_is_no_state():
    torch = pytest.importorskip("torch")

    class Observes(torch.nn.Module):  # type: ignore[misc,name-defined]  # PyTorch has no types here
        """Counts its calls."""

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(1))

        def forward(self, x: Any) -> Any:
            self.count += 1
            return x * 2

    compiled = deploy.compile(Observes(), "host", example=torch.zeros(1, 4))
    assert isinstance(compiled, CompiledModule)


def kinds(torch: Any) -> dict[str, Callable[[Any], Any]]:
    """The forms in which a network may be given."""
    example = torch.zeros(1, 4)
    return {
        "half": lambda network: network.half(),
        "double": lambda network: network.double(),
        "torch.compile": torch.compile,
        "ExportedProgram": lambda network: torch.export.export(network, (example,)),
        "scripted": torch.jit.script,
        "traced": lambda network: torch.jit.trace(network, example),
    }


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # PyTorch's of its own parts
@pytest.mark.parametrize("kind", ["half", "double", "torch.compile", "ExportedProgram", "scripted", "traced"])
def test_a_network_is_taken_in_each_of_its_forms(kind):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)).eval()
    example = None if kind == "ExportedProgram" else np.zeros((1, 4))
    compiled = deploy.compile(kinds(torch)[kind](network), "host", example=example)
    assert isinstance(compiled, CompiledModule)
    assert compiled.conversion is not None
    assert compiled.conversion.distance < 1e-5


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # PyTorch's of its own parts
def test_a_network_that_pt2e_quantised_keeps_its_integers():
    torch = pytest.importorskip("torch")
    pytest.importorskip("torchao")
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
    from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86

    torch.manual_seed(0)
    network, samples = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU()), torch.randn(4, 1, 8, 8)
    quantizer = x86.X86InductorQuantizer()
    quantizer.set_global(x86.get_default_x86_inductor_quantization_config())
    prepared = prepare_pt2e(torch.export.export(network.eval(), (samples[:1],)).module(), quantizer)
    for sample in samples:
        prepared(sample[None])
    given: dict[str, Any] = {"example": samples[:1], "calibration": samples}
    network = convert_pt2e(prepared)
    compiled = deploy.compile(network, "host", **given)
    assert isinstance(compiled, CompiledModule)
    assert compiled.conversion is not None
    assert compiled.conversion.quantized is None, "it was quantised before"
    assert compiled.conversion.judgement.limit == 0.05
    with pytest.raises(deploy.DeployError, match="the model is already quantized"):
        deploy.compile(network, "host", **given, signal_to_noise=20)


@pytest.mark.slow
def test_what_is_not_read_is_reported_with_its_module_and_line():
    torch = pytest.importorskip("torch")

    class Finds(torch.nn.Module):  # type: ignore[misc,name-defined]  # PyTorch has no types here
        """Gives as many numbers as the input wants."""

        def forward(self, x: Any) -> Any:
            return torch.nonzero(x * 2)

    class Asks(torch.nn.Module):  # type: ignore[misc,name-defined]  # PyTorch has no types here
        """Fails by itself."""

        def forward(self, x: Any) -> Any:
            raise ValueError("no such thing")

    for part, what in ((Finds(), "known when the model is compiled"), (Asks(), "cannot export the module")):
        network = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 1), part)
        with pytest.raises(deploy.DeployError) as caught:
            deploy.compile(network, "host", example=torch.zeros(1, 1, 4, 4))
        assert what in str(caught.value)
        name, line = type(part).__name__, type(part).forward.__code__.co_firstlineno + 1
        assert f"\n  Sequential, module 1 ({name}), test_torch.py, line {line}\n" in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_of_pytorchs_are_within_a_ten_thousandth(name):
    torch = pytest.importorskip("torch")
    if NETWORKS[name].is_of_torchvision:
        pytest.importorskip("torchvision")
    conversion = conversion_of(compiled_network(torch, name, samples=0))
    assert conversion.distance < 1e-4
