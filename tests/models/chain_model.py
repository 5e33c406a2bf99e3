"""A chain of separable convolutions of any length: models that differ in it have the same kernels."""

import numpy as np
from tflite_builder import ModelBuilder

_CHANNELS, _SCALE = 8, 0.05


def chain(pairs: int, seed: int = 0, size: int = 12) -> bytes:
    """A TFLite file with so many pairs of a depthwise and a pointwise convolution."""
    rng, build = np.random.default_rng(seed), ModelBuilder("chain")
    x = build.input("image", (1, size, size, _CHANNELS), scale=_SCALE)
    for _ in range(pairs):
        for make, shape in (
            (build.depthwise_conv2d, (1, 3, 3, _CHANNELS)),
            (build.conv2d, (_CHANNELS, 1, 1, _CHANNELS)),
        ):
            weights = rng.integers(-127, 128, shape).astype(np.int8)
            bias = rng.integers(-500, 501, _CHANNELS).astype(np.int32)
            x = make(x, weights, bias, weight_scales=[1 / 200] * _CHANNELS, scale=_SCALE)
    return build.finish(x)
