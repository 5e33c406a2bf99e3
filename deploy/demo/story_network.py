"""A small llama-like network in NumPy: forward, backward, and training with Adam."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aot.frontend.onnx.written_networks import EPSILON, Floats, LlamaSizes, rotations

Integers = npt.NDArray[np.int64]
_DECAYS = (0.9, 0.98)  # Adam's
_HIDDEN = np.float32(-1e9)  # score of a position that is not known yet
Weights = dict[str, Floats]
MATRICES = ("q", "k", "v", "o", "gate", "up", "down")


def first_weights(sizes: LlamaSizes, seed: int) -> Weights:
    """Returns random weights. Matrices are [inputs, outputs]."""
    random, width, inner = np.random.default_rng(seed), sizes.width, sizes.inner
    few = sizes.shared * sizes.head
    shapes = {"q": (width, width), "k": (width, few), "v": (width, few), "o": (width, width)}
    shapes |= {"gate": (width, inner), "up": (width, inner), "down": (inner, width)}
    made: dict[str, npt.NDArray[np.float64]] = {
        "embedding": random.normal(0, 0.05, (sizes.tokens, width)),
        "norm": np.ones(width),
    }
    for layer in range(sizes.layers):
        for name, shape in shapes.items():
            spread = shape[0] ** -0.5 * (0.5 if name in ("o", "down") else 1)
            made[f"{layer}.{name}"] = random.normal(0, spread, shape)
        made[f"{layer}.norm_1"] = made[f"{layer}.norm_2"] = np.ones(width)
    return {name: array.astype(np.float32) for name, array in made.items()}


def _rotated(x: Floats, cos: Floats, sin: Floats) -> Floats:
    """Rotates each pair of the first and the second half. x is [..., positions, head]."""
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], -1)


def _normed(x: Floats, gain: Floats) -> tuple[Floats, Floats]:
    share = 1 / np.sqrt(np.mean(x * x, -1, keepdims=True) + np.float32(EPSILON))
    return x * share * gain, share


def _normed_back(x: Floats, gain: Floats, share: Floats, back: Floats) -> tuple[Floats, Floats]:
    unit = x * share
    inner = back * gain
    gain_back: Floats = (back * unit).reshape(-1, gain.size).sum(0)
    return share * (inner - unit * np.mean(inner * unit, -1, keepdims=True)), gain_back


@dataclass(frozen=True)
class StoryNetwork:
    """Training: the loss of a batch of sequences, and its gradients."""

    sizes: LlamaSizes

    def logits(self, weights: Weights, tokens: Integers) -> Floats:
        """Returns the logits [batch, positions, tokens] of sequences [batch, positions]."""
        x: Floats = weights["embedding"][tokens]
        for layer in range(self.sizes.layers):
            x, _ = self._layer(weights, layer, x)
        out: Floats = _normed(x, weights["norm"])[0] @ weights["embedding"].T
        return out

    def loss(self, weights: Weights, tokens: Integers, following: Integers) -> tuple[float, Weights]:
        """Returns the mean cross entropy per token and the gradients of all weights."""
        x: Floats = weights["embedding"][tokens]
        steps = []
        for layer in range(self.sizes.layers):
            x, back = self._layer(weights, layer, x)
            steps.append(back)
        last, share = _normed(x, weights["norm"])
        chances = _softmax(last @ weights["embedding"].T)
        count = following.size
        chosen = np.take_along_axis(chances, following[..., None], -1)
        np.put_along_axis(chances, following[..., None], chosen - 1, -1)
        chances /= np.float32(count)
        width = self.sizes.width
        grads: Weights = {"embedding": chances.reshape(count, -1).T @ last.reshape(count, width)}
        towards, grads["norm"] = _normed_back(x, weights["norm"], share, chances @ weights["embedding"])
        for back in reversed(steps):
            towards = back(towards, grads)
        np.add.at(grads["embedding"], tokens.reshape(-1), towards.reshape(count, width))
        return float(-np.log(chosen + 1e-12).mean()), grads

    def _layer(
        self, weights: Weights, layer: int, x: Floats
    ) -> tuple[Floats, Callable[[Floats, Weights], Floats]]:
        """Returns a layer's result, and the function from its gradient to that of x."""
        own = {name: weights[f"{layer}.{name}"] for name in (*MATRICES, "norm_1", "norm_2")}
        h, share_1 = _normed(x, own["norm_1"])
        mixed, mixed_back = self._attention(own, h)
        middle = x + mixed @ own["o"]
        g, share_2 = _normed(middle, own["norm_2"])
        gate, up = g @ own["gate"], g @ own["up"]
        sigmoid = 1 / (1 + np.exp(-gate))
        inner = gate * sigmoid * up
        result: Floats = middle + inner @ own["down"]

        def backward(back: Floats, grads: Weights) -> Floats:
            inner_back = back @ own["down"].T
            up_back = inner_back * gate * sigmoid
            gate_back = inner_back * up * sigmoid * (1 + gate * (1 - sigmoid))
            for name, source, end in (("down", inner, back), ("gate", g, gate_back), ("up", g, up_back)):
                grads[f"{layer}.{name}"] = _product_back(source, end)
            g_back = gate_back @ own["gate"].T + up_back @ own["up"].T
            through, grads[f"{layer}.norm_2"] = _normed_back(middle, own["norm_2"], share_2, g_back)
            middle_back = back + through
            grads[f"{layer}.o"] = _product_back(mixed, middle_back)
            h_back = np.zeros_like(h)
            for name, end in zip("qkv", mixed_back(middle_back @ own["o"].T), strict=True):
                grads[f"{layer}.{name}"] = _product_back(h, end)
                h_back += end @ own[name].T
            through, grads[f"{layer}.norm_1"] = _normed_back(x, own["norm_1"], share_1, h_back)
            return middle_back + through

        return result, backward

    def _attention(
        self, own: Weights, h: Floats
    ) -> tuple[Floats, Callable[[Floats], tuple[Floats, Floats, Floats]]]:
        sizes, (batch, count, _) = self.sizes, h.shape
        cos, sin = (each[:count] for each in rotations(sizes))
        group = sizes.heads // sizes.shared
        scale = np.float32(sizes.head**-0.5)

        def heads(x: Floats, group: int) -> Floats:
            """Returns [batch, shared, group, positions, head]."""
            made: Floats = x.reshape(batch, count, sizes.shared, group, sizes.head)
            turned: Floats = made.transpose(0, 2, 3, 1, 4)
            return turned

        def flat(x: Floats) -> Floats:
            made: Floats = x.transpose(0, 3, 1, 2, 4).reshape(batch, count, -1)
            return made

        q = _rotated(heads(h @ own["q"], group), cos, sin)
        k = _rotated(heads(h @ own["k"], 1), cos, sin)
        v = heads(h @ own["v"], 1)
        later = np.triu(np.full((count, count), _HIDDEN, np.float32), 1)
        shares = _softmax(q @ k.swapaxes(-1, -2) * scale + later)

        def backward(back: Floats) -> tuple[Floats, Floats, Floats]:
            out_back = heads(back, group)
            shares_back = out_back @ v.swapaxes(-1, -2)
            v_back = (shares.swapaxes(-1, -2) @ out_back).sum(2, keepdims=True)
            scores_back = shares * (shares_back - (shares_back * shares).sum(-1, keepdims=True)) * scale
            k_back = (scores_back.swapaxes(-1, -2) @ q).sum(2, keepdims=True)
            return (
                flat(_rotated(scores_back @ k, cos, -sin)),
                flat(_rotated(k_back, cos, -sin)),
                flat(v_back),
            )

        return flat(shares @ v), backward


def _softmax(x: Floats) -> Floats:
    made: Floats = np.exp(x - x.max(-1, keepdims=True))
    made /= made.sum(-1, keepdims=True)
    return made


def _product_back(x: Floats, back: Floats) -> Floats:
    made: Floats = x.reshape(-1, x.shape[-1]).T @ back.reshape(-1, back.shape[-1])
    return made


def train(
    sizes: LlamaSizes,
    text: Integers,
    steps: int,
    batch: int,
    rate: float,
    seed: int,
    report: Callable[[int, float], None] = lambda step, loss: None,
) -> Weights:
    """Returns weights trained on one row of tokens. Reports the number and the loss of each step."""
    network, weights = StoryNetwork(sizes), first_weights(sizes, seed)
    random = np.random.default_rng(seed)
    means = {name: np.zeros_like(array) for name, array in weights.items()}
    squares = {name: np.zeros_like(array) for name, array in weights.items()}
    for step in range(1, steps + 1):
        begins = random.integers(0, len(text) - sizes.positions - 1, batch)
        windows = text[begins[:, None] + np.arange(sizes.positions + 1)]
        loss, grads = network.loss(weights, windows[:, :-1], windows[:, 1:])
        now = rate * min(1, step / (steps / 20)) * (0.05 + 0.95 * (1 + np.cos(np.pi * step / steps)) / 2)
        norm = np.sqrt(sum(float((grad * grad).sum()) for grad in grads.values()))
        for name, grad in grads.items():
            grad *= np.float32(min(1, 1 / norm))
            means[name] += np.float32(1 - _DECAYS[0]) * (grad - means[name])
            squares[name] += np.float32(1 - _DECAYS[1]) * (grad * grad - squares[name])
            mean = means[name] / np.float32(1 - _DECAYS[0] ** step)
            square = squares[name] / np.float32(1 - _DECAYS[1] ** step)
            weights[name] -= np.float32(now) * mean / (np.sqrt(square) + np.float32(1e-8))
        report(step, loss)
    return weights
