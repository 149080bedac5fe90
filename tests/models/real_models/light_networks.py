# SPDX-License-Identifier: Apache-2.0
"""Nine networks for 1,000 classes, without their weights: every class has the same score.

They come with onnx, at opset 9, where ArgMax has no ``select_last_index`` yet.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
import onnx.version_converter
from numpy.typing import NDArray
from sklearn.datasets import load_sample_image

__all__ = ["AXIS", "NAMES", "feed", "model", "scores_of"]

_FOLDER: Final = Path(onnx.__file__).parent / "backend/test/data/light"
AXIS: Final = 1
_SIDE: Final = 224

NAMES: Final = sorted(path.stem for path in _FOLDER.glob("light_*.onnx"))


def model(name: str, opset: int | None = None) -> onnx.ModelProto:
    """The network, converted to an opset if one is given."""
    network = onnx.load(_FOLDER / f"{name}.onnx")
    return network if opset is None else onnx.version_converter.convert_version(network, opset)


def scores_of(network: onnx.ModelProto) -> str:
    """Name of its one output."""
    (output,) = network.graph.output
    return output.name


def feed(network: onnx.ModelProto) -> dict[str, NDArray[Any]]:
    """Its input for a photograph: float32 (1, 3, 224, 224)."""
    photograph = load_sample_image("china.jpg")[:_SIDE, :_SIDE]
    pixels = np.moveaxis(photograph.astype(np.float32), 2, 0)[None]
    initialised = {initializer.name for initializer in network.graph.initializer}
    (name,) = [
        value.name
        for value in network.graph.input
        if value.name not in initialised and len(value.type.tensor_type.shape.dim) == pixels.ndim
    ]
    return {name: pixels}
