# SPDX-License-Identifier: Apache-2.0
"""Without a package that not every user needs: which extra installs it."""

from __future__ import annotations

import pytest

from onnx_argmax._extras import extra_of, raise_not_installed
from programs import run_program


@pytest.mark.parametrize(
    ("statement", "package", "extra"),
    [
        ("import onnx_argmax.backend", "onnx", "onnx"),
        ("import onnx_argmax.dask", "dask", "dask"),
        ("import onnx_argmax.reference", "onnx", "onnx"),
        ("import onnx_argmax.ort; onnx_argmax.ort.claimed_nodes", "onnx", "onnx"),
    ],
)
def test_the_extra_is_named(statement: str, package: str, extra: str) -> None:
    printed = run_program(
        f"""
        import sys

        sys.modules[{package!r}] = None
        try:
            {statement}
        except ImportError as error:
            print(error)
        """
    )
    what = statement.rpartition(" ")[2]
    words = f"{what} needs {package}, which is not installed; install it: "
    assert words in printed.stdout
    assert f"pip install 'onnx-argmax[{extra}]'" in printed.stdout


def test_what_no_extra_installs_is_left_alone() -> None:
    error = ModuleNotFoundError("No module named 'numpy'", name="numpy")
    assert extra_of(error) is None
    with pytest.raises(ModuleNotFoundError) as raised:
        raise_not_installed(error, "onnx_argmax.dask")
    assert raised.value is error
    assert extra_of(ModuleNotFoundError("no name")) is None
