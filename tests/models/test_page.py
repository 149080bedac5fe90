# SPDX-License-Identifier: Apache-2.0
"""The Python example of ``docs/real-models.md`` runs as a reader would paste it."""

from __future__ import annotations

import re
from pathlib import Path

from programs import run_program

PAGE = Path(__file__).parents[2] / "docs" / "real-models.md"


def test_the_example_runs() -> None:
    (block,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S)
    run_program(block)
