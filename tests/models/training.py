"""A small convolutional network in NumPy that learns: layers with their gradients, and Adam."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]


class Layer:
    """forward() remembers what backward() needs; backward() leaves `gradients` beside `parameters`."""

    parameters: tuple[Floats, ...] = ()
    gradients: tuple[Floats, ...] = ()

    def forward(self, x: Floats) -> Floats:
        raise NotImplementedError

    def backward(self, grad: Floats) -> Floats:
        raise NotImplementedError


class Conv(Layer):
    """Convolution, odd kernel, zero padding as TensorFlow's SAME; then relu.

    weights: (kernel, kernel, inputs, outputs), or (kernel, kernel, channels) for a depthwise one.
    """

    def __init__(self, rng: np.random.Generator, shape: tuple[int, ...], stride: int = 1) -> None:
        fan_in = np.prod(shape[:3]) if len(shape) == 4 else np.prod(shape[:2])
        self.weights = rng.normal(0, np.sqrt(2 / fan_in), shape).astype(np.float32)
        self.bias = np.zeros(shape[-1], np.float32)
        self.parameters = (self.weights, self.bias)
        self.depthwise, self.stride = len(shape) == 3, stride

    def forward(self, x: Floats) -> Floats:
        kernel, step = self.weights.shape[0], self.stride
        self.inner = (self._inner(x.shape[1]), self._inner(x.shape[2]))
        margins = [
            (inner.start, self._reach(size) - inner.stop)
            for inner, size in zip(self.inner, x.shape[1:3], strict=True)
        ]
        self.padded = np.pad(x, ((0, 0), *margins, (0, 0)))
        bottom, right = (self._reach(size) - kernel + 1 for size in x.shape[1:3])
        self.places = [
            (dy, dx, (slice(None), slice(dy, dy + bottom, step), slice(dx, dx + right, step)))
            for dy in range(kernel)
            for dx in range(kernel)
        ]
        self.result = np.maximum(self.bias + sum(self._term(*place) for place in self.places), 0)
        return self.result

    def backward(self, grad: Floats) -> Floats:
        grad = grad * (self.result > 0)
        weights_grad, padded_grad = np.zeros_like(self.weights), np.zeros_like(self.padded)
        for dy, dx, window in self.places:
            w, x = self.weights[dy, dx], self.padded[window]
            if self.depthwise:
                weights_grad[dy, dx] = np.einsum("nyxc,nyxc->c", x, grad)
                padded_grad[window] += grad * w
            else:
                weights_grad[dy, dx] = np.tensordot(x, grad, axes=((0, 1, 2), (0, 1, 2)))
                padded_grad[window] += grad @ w.T
        self.gradients = (weights_grad, grad.sum(axis=(0, 1, 2)))
        down, across = self.inner
        return padded_grad[:, down, across]

    def _reach(self, size: int) -> int:
        """The pixels along a side that windows look at, with the padding."""
        return max(size, (-(-size // self.stride) - 1) * self.stride + int(self.weights.shape[0]))

    def _inner(self, size: int) -> slice:
        """The pixels along a side of the padded image that are the image's."""
        before = (self._reach(size) - size) // 2
        return slice(before, before + size)

    def _term(self, dy: int, dx: int, window: tuple[slice, ...]) -> Floats:
        x, w = self.padded[window], self.weights[dy, dx]
        return x * w if self.depthwise else x @ w


class MaxPool(Layer):
    """The largest of each 2x2 square."""

    def forward(self, x: Floats) -> Floats:
        n, height, width, channels = x.shape
        self.squares = x.reshape(n, height // 2, 2, width // 2, 2, channels)
        self.largest = self.squares.max(axis=(2, 4), keepdims=True)
        return self.largest[:, :, 0, :, 0]

    def backward(self, grad: Floats) -> Floats:
        winners = self.squares == self.largest
        shares = winners / winners.sum(axis=(2, 4), keepdims=True)
        n, height, _, width, _, channels = self.squares.shape
        spread = shares * grad[:, :, None, :, None]
        return spread.reshape(n, 2 * height, 2 * width, channels).astype(np.float32)


class Dense(Layer):
    """Flattens, then weights (inputs, outputs) and bias; no activation."""

    def __init__(self, rng: np.random.Generator, inputs: int, outputs: int) -> None:
        self.weights = rng.normal(0, np.sqrt(1 / inputs), (inputs, outputs)).astype(np.float32)
        self.bias = np.zeros(outputs, np.float32)
        self.parameters = (self.weights, self.bias)

    def forward(self, x: Floats) -> Floats:
        self.shape, self.flat = x.shape, x.reshape(len(x), -1)
        return self.flat @ self.weights + self.bias

    def backward(self, grad: Floats) -> Floats:
        self.gradients = (self.flat.T @ grad, grad.sum(axis=0))
        return (grad @ self.weights.T).reshape(self.shape)


@dataclass
class Adam:
    """The usual optimiser; changes the parameters in place."""

    rate: float
    moments: dict[int, tuple[Floats, Floats]] = field(default_factory=dict)
    steps: int = 0

    def step(self, layers: Sequence[Layer]) -> None:
        self.steps += 1
        for layer in layers:
            for value, grad in zip(layer.parameters, layer.gradients, strict=True):
                self._update(value, grad)

    def _update(self, value: Floats, grad: Floats) -> None:
        first, second = self.moments.setdefault(id(value), (np.zeros_like(value), np.zeros_like(value)))
        first += 0.1 * (grad - first)
        second += 0.001 * (grad**2 - second)
        rate = self.rate * np.sqrt(1 - 0.999**self.steps) / (1 - 0.9**self.steps)
        value -= (rate * first / (np.sqrt(second) + 1e-8)).astype(np.float32)


def activations(layers: Sequence[Layer], x: Floats) -> list[Floats]:
    """What goes into the first layer, and what each layer gives."""
    values = [x]
    for layer in layers:
        values.append(layer.forward(values[-1]))
    return values


def train(
    layers: Sequence[Layer],
    images: Floats,
    labels: npt.NDArray[np.int64],
    rng: np.random.Generator,
    epochs: int,
) -> None:
    """Minimises the cross-entropy of the softmax of the last layer."""
    batch, adam = 64, Adam(rate=0.003)
    for epoch in range(epochs):
        adam.rate = 0.003 * (1 - epoch / epochs)
        order = rng.permutation(len(images))
        for start in range(0, len(images), batch):
            chosen = order[start : start + batch]
            grad = _softmax(activations(layers, images[chosen])[-1])
            grad[np.arange(len(chosen)), labels[chosen]] -= 1
            grad /= len(chosen)
            for layer in reversed(layers):
                grad = layer.backward(grad)
            adam.step(layers)


def _softmax(x: Floats) -> Floats:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))
