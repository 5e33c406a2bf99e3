"""Pictures with the call of the library that each front end is to equal."""

from typing import Any

import numpy as np
import numpy.typing as npt
from front_cases import FloatArray, FrontCase

HEIGHT, WIDTH = 21, 30


def colours() -> npt.NDArray[np.uint8]:
    """Red, green and blue that rise in several ways."""
    y, x, c = np.meshgrid(np.arange(HEIGHT), np.arange(WIDTH), np.arange(3), indexing="ij")
    made: npt.NDArray[np.uint8] = ((x * x * (c + 1) + y * 37 * (3 - c) + x * y) % 256).astype(np.uint8)
    return made


def _rows(image: Any) -> Any:
    """A row for each row of the picture, whose pixels lie side by side."""
    return np.asarray(image).reshape(len(image), -1)


def _tf_resized(x: FloatArray) -> Any:
    import tensorflow as tf

    return _rows(tf.image.resize(tf.constant(x, tf.float32), (8, 13)) * 0.01 - 0.25)


def _tf_gray(x: FloatArray) -> Any:
    import tensorflow as tf

    cropped = tf.image.resize_with_crop_or_pad(tf.constant(x, tf.float32), 16, 15)
    return _rows(tf.image.rgb_to_grayscale(tf.image.resize(cropped, (20, 10))))


def _torch_planes(x: FloatArray) -> Any:
    import torch

    image = torch.tensor(x, dtype=torch.float32).permute(2, 0, 1) / 255
    resized = torch.nn.functional.interpolate(image[None], (9, 12), mode="bilinear", antialias=False)[0]
    mean, std = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    return _rows(((resized - mean[:, None, None]) / std[:, None, None]).numpy())


# (case, the model's input)
PICTURES = (
    (
        FrontCase(f"tf.image:width={WIDTH},height={HEIGHT},scale=0.01,offset=-0.25", _tf_resized),
        (1, 8, 13, 3),
    ),
    (
        FrontCase(f"tf.image:width={WIDTH},height={HEIGHT},crop_width=15,crop_height=16", _tf_gray),
        (1, 20, 10, 1),
    ),
    (
        FrontCase(
            f"torchvision:width={WIDTH},height={HEIGHT},antialias=false,mean=0.485/0.456/0.406,"
            "std=0.229/0.224/0.225",
            _torch_planes,
        ),
        (1, 3, 9, 12),
    ),
)
