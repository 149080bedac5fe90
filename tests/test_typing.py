# SPDX-License-Identifier: Apache-2.0
"""A strict type checker accepts a user's program, and refuses wrong ones."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import onnx_argmax

PROGRAM = """
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    import onnx_argmax
    from onnx_argmax import argmax, build_info, get_num_threads, set_num_threads

    logits: NDArray[np.float32] = np.zeros((2, 19, 4, 4), np.float32)
    classes: NDArray[np.int64] = argmax(logits, axis=1, keepdims=False)
    flat: Any = argmax(logits, None)
    last: NDArray[np.int64] = argmax(logits, -1, True, True, threads=2)
    narrow: NDArray[np.uint8] = argmax(logits, 1, dtype=np.uint8)
    out: NDArray[np.int32] = np.zeros((2, 1, 4, 4), np.int32)
    argmax(logits, np.int64(1), out=out)
    argmax(b"123")
    argmax(memoryview(b"123"))

    level: str = build_info().level
    levels: tuple[str, ...] = build_info().levels
    threads: int = get_num_threads()
    set_num_threads(threads)
    version: str = onnx_argmax.__version__
"""

MISTAKES = """
    import numpy as np
    from onnx_argmax import argmax, build_info, set_num_threads

    argmax()
    argmax(np.zeros(3), 0, True, False, np.int8)
    argmax(np.zeros(3), threads="2")
    argmax(np.zeros(3), keep_dims=True)
    set_num_threads("2")
    build_info().level = "x86-64"
    level: int = build_info().level
"""


def errors(folder: Path, source: str) -> list[tuple[int, str]]:
    """Line and rule of each error that a strict checker finds in a program."""
    checker = next((c for c in ("basedpyright", "pyright") if importlib.util.find_spec(c)), None)
    if checker is None:
        pytest.skip("neither basedpyright nor pyright is installed")
    program = folder / "program.py"
    program.write_text(textwrap.dedent(source).lstrip())
    settings = {
        "typeCheckingMode": "strict",
        "include": ["program.py"],
        "extraPaths": [str(Path(onnx_argmax.__file__).parent.parent)],
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    result = subprocess.run(
        [sys.executable, "-m", checker, "--outputjson", "--pythonpath", sys.executable],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    found = json.loads(result.stdout)["generalDiagnostics"]
    return [
        (entry["range"]["start"]["line"] + 1, entry["rule"])
        for entry in found
        if entry["severity"] == "error"
    ]


def test_program_is_accepted(tmp_path: Path) -> None:
    assert errors(tmp_path, PROGRAM) == []


def test_mistakes_are_found(tmp_path: Path) -> None:
    found = {line for line, _ in errors(tmp_path, MISTAKES)}
    assert found == set(range(4, 11))
