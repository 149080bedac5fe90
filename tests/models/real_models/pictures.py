# SPDX-License-Identifier: Apache-2.0
"""The picture of a scanned page, as scikit-image has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from real_models.fetching import Wheel

__all__ = ["page", "page_file"]

_PAGE: Final = "skimage/data/page.png"
_WHEEL: Final = Wheel(
    "scikit-image",
    "0.26.0",
    {_PAGE: "341a6f0a61557662b02734a9b6e56ec33a915b2c41886b97509dedf2a43b47a3"},
)


def page_file() -> Path:
    """The file."""
    return _WHEEL.fetched(_PAGE)


def page() -> NDArray[Any]:
    """Its pixels, uint8 (191, 384)."""
    with Image.open(page_file()) as picture:
        return np.array(picture)
