# SPDX-License-Identifier: Apache-2.0
"""The wheel: what is in it, that it works elsewhere, and what a missing compiler gives."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SMOKE = """
import numpy as np, onnx_argmax
assert onnx_argmax.argmax(np.array([[1, 3, 2]], np.float32), axis=1).tolist() == [[1]]
assert onnx_argmax.build_info().levels
print(onnx_argmax.__version__)
"""


def build(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    # A copy, so that no build folder of the checkout is reused.
    clone = folder / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--no-deps",
            "--wheel-dir",
            str(folder),
            str(clone),
        ],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: there is nothing to clone")
    folder = tmp_path_factory.mktemp("wheel")
    result = build(folder)
    assert result.returncode == 0, result.stderr
    (found,) = folder.glob("*.whl")
    return found


def test_the_wheel_holds_neither_tests_nor_sources(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert not [n for n in names if n.endswith((".cc", ".h", ".o", ".a", ".cmake"))]
    assert not [n for n in names if "test" in n.lower() or "benchmark" in n.lower()]
    assert {n.partition("/")[0].partition("-")[0] for n in names} == {"onnx_argmax"}
    assert "onnx_argmax/py.typed" in names
    assert "onnx_argmax/_native.pyi" in names
    assert [n for n in names if "onnx_argmax_ep" in n]
    assert [n for n in names if n.endswith("licenses/LICENSE")]


def test_the_wheel_works_in_another_environment(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", str(wheel)], check=True)
    result = subprocess.run(
        [python, "-c", SMOKE], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == wheel.name.split("-")[1]


def test_a_missing_compiler_is_said_in_words(tmp_path: Path) -> None:
    result = build(tmp_path, CXX=str(tmp_path / "no-such-compiler"))
    assert result.returncode != 0
    words = " ".join((result.stdout + result.stderr).split())
    assert "no C++ compiler was found: install GCC 12 or later, or Clang 16 or later" in words
