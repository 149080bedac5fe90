# SPDX-License-Identifier: Apache-2.0
"""What kind of file it is, of 214, from its first and last bytes."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
from numpy.typing import NDArray

from onnx_argmax import _native
from real_models import pictures
from real_models.fetching import Wheel

__all__ = ["AXIS", "SCORES", "feed", "files", "kinds", "model"]

_MODEL: Final = "magika/models/standard_v3_3/model.onnx"
_SETTINGS: Final = "magika/models/standard_v3_3/config.min.json"
_WHEEL: Final = Wheel(
    "magika",
    "1.0.3",
    {
        _MODEL: "fe2d2eb49c5f88a9e0a6c048e15d6ffdf86235519c2afc535044de433169ec8c",
        _SETTINGS: "ae24c742205358f6ff6dfd5facb6743fb69743dbba8373e73da58ff0cbd695db",
    },
)
SCORES: Final = "target_label"
AXIS: Final = 1
_END: Final = 1024
"""Bytes that count at either end."""
_BLOCK: Final = 4096
"""Bytes at either end whose outer white space does not count."""
_PADDING: Final = 256
_ROOT: Final = Path(__file__).resolve().parents[3]


def model() -> onnx.ModelProto:
    """The model as it was published."""
    return onnx.load(_WHEEL.fetched(_MODEL))


def files() -> dict[str, bytes]:
    """Real files by the kind that each is of."""
    text = (_ROOT / "README.md").read_bytes()
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr("README.txt", text)
        zipped.writestr("LICENSE.txt", (_ROOT / "LICENSE").read_bytes())
    return {
        "python": Path(__file__).read_bytes(),
        "cpp": (_ROOT / "src/core/plan.cc").read_bytes(),
        "cmake": (_ROOT / "CMakeLists.txt").read_bytes(),
        "toml": (_ROOT / "pyproject.toml").read_bytes(),
        "markdown": text,
        "png": pictures.page_file().read_bytes(),
        "npz": (_ROOT / "examples/digits/digits.npz").read_bytes(),
        "onnx": _WHEEL.fetched(_MODEL).read_bytes(),
        "elf": Path(_native.__file__).read_bytes(),
        "gzip": gzip.compress(text),
        "zip": archive.getvalue(),
    }


def feed(contents: Iterable[bytes]) -> dict[str, NDArray[Any]]:
    """The model's input for files' contents: int32 (number of files, 2048)."""
    return {"bytes": np.array([_features(content) for content in contents], np.int32)}


@cache
def kinds() -> list[str]:
    """The name of each class."""
    return json.loads(_WHEEL.fetched(_SETTINGS).read_text("utf-8"))["target_labels_space"]


def _features(content: bytes) -> list[int]:
    first = content[:_BLOCK].lstrip()[:_END]
    last = content[-_BLOCK:].rstrip()[-_END:]
    padding = [_PADDING] * (2 * _END - len(first) - len(last))
    return [*first, *padding, *last]
