# SPDX-License-Identifier: Apache-2.0
"""No kernel reads or writes a byte outside its arrays: forbidden pages lie on both sides."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from machine import LEVELS

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs mprotect")

PROGRAM = Path(__file__).with_name("fenced.py")


def run(case_file: Path, level: str, edge: str) -> subprocess.CompletedProcess[str]:
    # A process of its own: an access outside an array is a signal, not an exception.
    return subprocess.run(
        [sys.executable, PROGRAM, case_file, level, edge],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("edge", ["begin", "end"])
@pytest.mark.parametrize("level", LEVELS)
def test_nothing_outside_is_touched(tmp_path: Path, level: str, edge: str) -> None:
    case_file = tmp_path / "case"
    result = run(case_file, level, edge)
    assert result.returncode == 0, f"{case_file.read_text().strip()}\n{result.stderr}"


def test_the_fence_bites(tmp_path: Path) -> None:
    result = run(tmp_path / "case", "overrun", "end")
    assert result.returncode in (-signal.SIGSEGV, -signal.SIGBUS)
