"""The mosaics on which front ends are compared with OpenCV: sides of even and odd lengths, the least one."""

import numpy as np
import numpy.typing as npt

MOSAICS = ("rggb", "bggr", "grbg", "gbrg")
SIZES = ((3, 3), (6, 7), (5, 8))


def sent(height: int, width: int) -> npt.NDArray[np.uint8]:
    """Bytes of a sensor, in whose sums of neighbours every remainder occurs."""
    n = np.arange(height * width, dtype=np.int64) + 11
    made: npt.NDArray[np.uint8] = (n * n * n * 7919 % 65_521 % 256).astype(np.uint8)
    return made.reshape(height, width)
