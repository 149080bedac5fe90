# SPDX-License-Identifier: Apache-2.0
"""Running a small Python program in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path

__all__ = ["run_program"]

# A hang must fail the test, not stop the suite; no program here takes more than seconds.
_TIMEOUT_SECONDS = 120


def run_program(
    source: str,
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    succeeds: bool = True,
) -> subprocess.CompletedProcess[str]:
    """Run the source with warnings as errors; ``tests/`` can be imported from.

    The package's own variables come from ``environment`` alone; it runs in ``folder``.
    """
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("ONNX_ARGMAX_")}
    paths = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(source)],
        env={**inherited, "PYTHONPATH": os.pathsep.join(paths), **(environment or {})},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_SECONDS,
        check=False,
    )
    assert (result.returncode == 0) is succeeds, result.stdout + result.stderr
    return result
