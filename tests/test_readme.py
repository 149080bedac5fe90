# SPDX-License-Identifier: Apache-2.0
"""The Python examples of the pages run, one after the other, as a reader would paste them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from programs import run_program

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"

# Blocks of each page: one for each door that Python code uses.
PAGES = {"README.md": 7, "docs/dask.md": 2, "docs/onnxruntime.md": 2, "docs/outofcore.md": 3}


@pytest.mark.parametrize(("page", "least"), PAGES.items())
def test_examples_of_a_page_run(page: str, least: int, tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text("utf-8"), re.M | re.S)
    assert len(blocks) >= least
    run_program("\n".join(blocks), folder=tmp_path)


def test_the_first_command_names_files_that_exist() -> None:
    command = re.search(r"onnx-argmax run (\S+) (\S+\.npz)", README.read_text("utf-8"))
    assert command is not None
    for file in command.groups():
        assert (README.parent / file).is_file()
