# SPDX-License-Identifier: Apache-2.0
"""``python -m onnx_argmax``: the command ``onnx-argmax``."""

from __future__ import annotations

import sys

from onnx_argmax.cli import main

if __name__ == "__main__":
    sys.exit(main())
