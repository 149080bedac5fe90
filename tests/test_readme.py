# SPDX-License-Identifier: Apache-2.0
"""The README's Python examples run, one after the other, as a reader would paste them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

README = Path(__file__).parents[1] / "README.md"


def test_examples_of_the_readme_run() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", README.read_text("utf-8"), re.M | re.S)
    assert len(blocks) >= 4  # one for each door that Python code uses
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, str(README), "exec"), names)


def test_the_first_command_names_files_that_exist() -> None:
    command = re.search(r"onnx-argmax run (\S+) (\S+\.npz)", README.read_text("utf-8"))
    assert command is not None
    for file in command.groups():
        assert (README.parent / file).is_file()
