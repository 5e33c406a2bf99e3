"""Computes colours of mosaics by the installed OpenCV: python tests/fronts/make_mosaic_results.py."""

import importlib.metadata
import json
from pathlib import Path

import numpy as np
from mosaic_cases import MOSAICS, SIZES, sent

PLACE = Path(__file__).with_name("mosaic_results.json")
PACKAGE = "opencv-python-headless"


def main() -> None:
    import cv2

    library = f"{PACKAGE} {importlib.metadata.version(PACKAGE)}"
    lines = [f'"library": {json.dumps(library)}']
    for mosaic in MOSAICS:
        code = getattr(cv2, f"COLOR_Bayer{mosaic.upper()}2RGB")
        for height, width in SIZES:
            colours = np.asarray(cv2.cvtColor(sent(height, width), code))
            lines.append(f'"{mosaic} {height}x{width}": "{colours.tobytes().hex()}"')
    PLACE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
