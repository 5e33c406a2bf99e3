"""Networks as PyTorch and torchvision define them, small inputs, weights by chance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Made = Callable[[Any], Any]  # PyTorch's package -> a module


@dataclass(frozen=True, slots=True)
class TorchNetwork:
    """A network and the shape of its input."""

    make: Made
    shape: tuple[int, ...]
    is_of_torchvision: bool = False


def _of_torchvision(name: str) -> TorchNetwork:
    """A classifier of torchvision's with ten classes, for pictures of 64 by 64."""

    def make(_: Any) -> Any:
        import torchvision

        return getattr(torchvision.models, name)(weights=None, num_classes=10)

    return TorchNetwork(make, (1, 3, 64, 64), is_of_torchvision=True)


def _encoder(torch: Any) -> Any:
    """Two layers of a transformer."""
    layer = torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    return torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


def _last_state(layer: Callable[[Any], Any]) -> Made:
    """Words by the last state of a recurrent layer over 40 features."""

    def make(torch: Any) -> Any:
        class Keywords(torch.nn.Module):  # type: ignore[misc]  # PyTorch has no types here
            """A recurrent layer and a dense one."""

            def __init__(self) -> None:
                super().__init__()
                self.layer, self.head = layer(torch), torch.nn.Linear(48, 12)

            def forward(self, features: Any) -> Any:
                return self.head(self.layer(features)[0][:, -1])

        return Keywords()

    return make


def _over_samples(torch: Any) -> Any:
    """Convolutions over samples of sound."""
    nn = torch.nn
    return nn.Sequential(
        *(nn.Conv1d(1, 16, 16, stride=4), nn.BatchNorm1d(16), nn.ReLU(), nn.MaxPool1d(4)),
        *(nn.Conv1d(16, 32, 3), nn.BatchNorm1d(32), nn.ReLU(), nn.AdaptiveAvgPool1d(1)),
        *(nn.Flatten(), nn.Linear(32, 12)),
    )


def _u_net(torch: Any) -> Any:
    """A picture smaller and larger again, with what it was beside it."""
    nn = torch.nn

    def block(inputs: int, outputs: int) -> Any:
        return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU())

    class UNet(nn.Module):  # type: ignore[misc,name-defined]  # PyTorch has no types here
        """Two sizes down, two up."""

        def __init__(self) -> None:
            super().__init__()
            self.first, self.second, self.third = block(3, 8), block(8, 16), block(16, 32)
            self.smaller = nn.MaxPool2d(2)
            self.up, self.more_up = nn.ConvTranspose2d(32, 16, 2, 2), nn.ConvTranspose2d(16, 8, 2, 2)
            self.fourth, self.fifth, self.head = block(32, 16), block(16, 8), nn.Conv2d(8, 2, 1)

        def forward(self, picture: Any) -> Any:
            first = self.first(picture)
            second = self.second(self.smaller(first))
            third = self.third(self.smaller(second))
            fourth = self.fourth(torch.cat([self.up(third), second], 1))
            return self.head(self.fifth(torch.cat([self.more_up(fourth), first], 1)))

    return UNet()


NETWORKS: Mapping[str, TorchNetwork] = {
    "MobileNetV2": _of_torchvision("mobilenet_v2"),
    "MobileNetV3-small": _of_torchvision("mobilenet_v3_small"),
    "MNASNet-0.5": _of_torchvision("mnasnet0_5"),
    "EfficientNet-B0": _of_torchvision("efficientnet_b0"),
    "ResNet-18": _of_torchvision("resnet18"),
    "SqueezeNet-1.1": _of_torchvision("squeezenet1_1"),
    "transformer encoder": TorchNetwork(_encoder, (1, 16, 32)),
    "GRU keywords": TorchNetwork(_last_state(lambda t: t.nn.GRU(40, 48, batch_first=True)), (1, 49, 40)),
    "LSTM keywords": TorchNetwork(_last_state(lambda t: t.nn.LSTM(40, 48, batch_first=True)), (1, 49, 40)),
    "Conv1D sound": TorchNetwork(_over_samples, (1, 1, 1600)),
    "U-Net": TorchNetwork(_u_net, (1, 3, 32, 32)),
}


def make_network(torch: Any, name: str) -> Any:
    """The network, with the same weights each time; its normalisations know what a few inputs are like."""
    torch.manual_seed(5)
    network = NETWORKS[name]
    module = network.make(torch)
    module.train()
    with torch.no_grad():
        for _ in range(10):
            module(torch.randn(8, *network.shape[1:]))
    return module.eval()
