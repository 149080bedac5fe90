# SPDX-License-Identifier: Apache-2.0
"""ONNX ArgMax: exact on every element type, at the speed of memory."""

from __future__ import annotations

from onnx_argmax._argmax import argmax
from onnx_argmax._build import __version__, build_info, get_num_threads, set_num_threads

__all__ = ["__version__", "argmax", "build_info", "get_num_threads", "set_num_threads"]
