"""Makes the networks of `deploy bench --kit`, in deploy/silicon/models: known shapes, seeded weights.

    PYTHONPATH=.:tests/models python tests/models/make_kit_models.py

The time of a kernel depends on shapes, not on what the weights were trained for.
"""

from collections.abc import Callable, Mapping
from math import prod
from pathlib import Path

from tflite_builder import ModelBuilder
from tiny_models import Quantised, random_weights

FOLDER = Path(__file__).resolve().parents[2] / "deploy" / "silicon" / "models"
SCALE, LEAST = 0.05, -128
GAIN = 2.4  # so that values neither vanish nor saturate over many layers: outputs show wrong sums


class Network:
    """A model that grows layer by layer. Each layer's weights have the next seed."""

    def __init__(self, name: str, shape: tuple[int, ...], seed: int) -> None:
        self.build, self.seed = ModelBuilder(name), seed
        self.x = self.build.input("input", shape, SCALE, -4)

    @property
    def channels(self) -> int:
        return self.build.tensors[self.x].shape[-1]

    @property
    def elements(self) -> int:
        return prod(self.build.tensors[self.x].shape)

    def conv(self, depth: int, size: tuple[int, int], stride: int = 1, activation: str = "RELU") -> str:
        w, b, s = self._weights((depth, *size, self.channels), 0)
        zero = LEAST if activation == "RELU" else 3
        self.x = self.build.conv2d(
            self.x,
            w,
            b,
            weight_scales=s,
            scale=SCALE,
            zero_point=zero,
            stride=(stride, stride),
            activation=activation,
        )
        return self.x

    def depthwise(self, stride: int = 1) -> str:
        w, b, s = self._weights((1, 3, 3, self.channels), 3)
        self.x = self.build.depthwise_conv2d(
            self.x,
            w,
            b,
            weight_scales=s,
            scale=SCALE,
            zero_point=LEAST,
            stride=(stride, stride),
            activation="RELU",
        )
        return self.x

    def dense(self, units: int, activation: str = "RELU") -> str:
        w, b, s = self._weights((units, self.elements), 0)
        zero = LEAST if activation == "RELU" else 3
        self.x = self.build.fully_connected(
            self.x, w, b // 4, weight_scales=s[:1], scale=SCALE, zero_point=zero, activation=activation
        )
        return self.x

    def classify(self, classes: int) -> bytes:
        """Pools to one pixel, then a dense layer and softmax."""
        height, width = self.build.tensors[self.x].shape[1:3]
        self.x = self.build.pool2d("AVERAGE", self.x, (height, width))
        self.x = self.build.reshape(self.x, (1, self.channels))
        self.dense(classes, "NONE")
        return self.build.finish(self.build.softmax(self.x))

    def _weights(self, shape: tuple[int, ...], axis: int) -> Quantised:
        self.seed += 1
        weights, bias, scales = random_weights(self.seed, shape, axis)
        return weights, bias, [GAIN * scale for scale in scales]


def keywords() -> bytes:
    """Depthwise separable, in the shapes of MLPerf Tiny's keyword spotting."""
    net = Network("keywords", (1, 49, 10, 1), 100)
    net.conv(64, (10, 4), 2)
    for _ in range(4):
        net.depthwise()
        net.conv(64, (1, 1))
    return net.classify(12)


def residual() -> bytes:
    """The first two of the three stages of MLPerf Tiny's image classification."""
    net = Network("residual", (1, 32, 32, 3), 200)
    net.conv(16, (3, 3))
    for depth, stride in ((16, 1), (32, 2)):
        begin = net.x
        net.conv(depth, (3, 3), stride)
        branch = net.conv(depth, (3, 3), 1, "NONE")
        net.x = begin
        if stride > 1:
            net.conv(depth, (1, 1), stride, "NONE")
        net.x = net.build.add(branch, net.x, scale=2 * SCALE, zero_point=LEAST, activation="RELU")
    return net.classify(10)


def mobile() -> bytes:
    """A narrow mobile network on a small picture."""
    net = Network("mobile", (1, 48, 48, 3), 300)
    net.conv(8, (3, 3), 2)
    for depth, stride in ((16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2)):
        net.depthwise(stride)
        net.conv(depth, (1, 1))
    return net.classify(2)


def autoencoder() -> bytes:
    """Dense layers alone: each weight is read from flash once and used once."""
    net = Network("autoencoder", (1, 192), 400)
    for units in (64, 64, 8, 64, 64):
        net.dense(units)
    return net.build.finish(net.dense(192, "NONE"))


def gestures() -> bytes:
    """Convolutions over time, with maximum pools between."""
    net = Network("gestures", (1, 128, 1, 6), 500)
    for depth in (16, 24, 32):
        net.conv(depth, (5, 1))
        net.x = net.build.pool2d("MAX", net.x, (2, 1))
    return net.classify(6)


NETWORKS: Mapping[str, Callable[[], bytes]] = {
    each.__name__: each for each in (keywords, residual, mobile, autoencoder, gestures)
}

if __name__ == "__main__":
    for name, make in NETWORKS.items():
        (FOLDER / f"{name}.tflite").write_bytes(make())
