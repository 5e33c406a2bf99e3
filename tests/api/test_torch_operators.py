"""PyTorch's operators on inputs that are not centered: skipped if PyTorch is not installed."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from drawn_inputs import INPUTS, drawn_input

import deploy

IMAGE, VECTOR, SERIES = (1, 4, 9, 7), (1, 12), (1, 5, 7)


def operators(torch: Any) -> Mapping[str, tuple[Any, tuple[int, ...]]]:
    """Modules and functions, each with the shape of its input."""
    nn, functional = torch.nn, torch.nn.functional
    torch.manual_seed(0)
    on_images = {
        "conv": nn.Conv2d(4, 5, 3, padding=1, stride=2),
        "depthwise": nn.Conv2d(4, 8, 3, groups=4, dilation=2),
        "transposed": nn.ConvTranspose2d(4, 3, 3, stride=2),
        "batch norm": nn.BatchNorm2d(4),
        "layer norm": nn.LayerNorm(7),
        "group norm": nn.GroupNorm(2, 4),
        "instance norm": nn.InstanceNorm2d(4),
        "average pool": nn.AvgPool2d(2),
        "max pool": nn.MaxPool2d(3, 2, 1),
        "bilinear": nn.Upsample(scale_factor=1.5, mode="bilinear", align_corners=True),
        "mean": lambda x: x.mean(dim=(2, 3)),
        "variance": lambda x: x.var(dim=-1),
        "deviation": lambda x: x.std(dim=-1, unbiased=False),
        "sum": lambda x: x.sum(1),
        "norm": lambda x: torch.linalg.vector_norm(x, dim=-1),
        "cosine": lambda x: functional.cosine_similarity(x[:, :2], x[:, 2:], dim=-1),
        "cumulative sum": lambda x: x.cumsum(-1),
        "log of summed exponentials": lambda x: x.logsumexp(-1),
    }
    on_vectors = {
        "linear": nn.Linear(12, 7),
        "softmax": nn.Softmax(-1),
        "log softmax": nn.LogSoftmax(-1),
        **{name: getattr(nn, name)() for name in ("GELU", "SiLU", "Hardswish", "Sigmoid", "Tanh")},
        **{name: getattr(nn, name)() for name in ("Softplus", "ELU", "Mish", "PReLU", "ReLU6")},
    }
    on_series = {"lstm": nn.LSTM(7, 6, batch_first=True), "gru": nn.GRU(7, 6, batch_first=True)}
    return {
        **{name: (each, IMAGE) for name, each in on_images.items()},
        **{name: (each, VECTOR) for name, each in on_vectors.items()},
        **{name: (each, SERIES) for name, each in on_series.items()},
    }


@pytest.mark.cc
@pytest.mark.slow
def test_operators_are_pytorchs_far_from_zero_too():
    """The error is a share of the largest output, or of what rounding the input may change."""
    torch = pytest.importorskip("torch")
    base: Any = torch.nn.Module

    class Module(base):  # type: ignore[misc]
        def __init__(self, called: Any) -> None:
            super().__init__()
            self.called = called

        def forward(self, x: Any) -> Any:
            made = self.called(x)
            return made[0] if isinstance(made, tuple) else made

    rng, wrong = np.random.default_rng(0), []
    for name, (called, shape) in operators(torch).items():
        module = Module(called).eval()
        compiled = deploy.compile(module, board="host", example=torch.randn(shape))
        for kind in INPUTS:
            x = drawn_input(rng, kind, shape)
            with torch.no_grad():
                single = module(torch.from_numpy(x)).numpy()
                exact = module.double()(torch.from_numpy(x).double()).numpy()
                module.float()
            (made,) = deploy.run(compiled, x).outputs.values()
            least = np.finfo(np.float32).eps * float(np.abs(x).max())
            bound = max(1e-5 * float(np.abs(exact).max()), 4 * float(np.abs(single - exact).max()), least)
            if float(np.abs(made.reshape(exact.shape) - exact).max()) > bound:
                wrong.append(f"{name}, {kind}")
    assert wrong == []
