# SPDX-License-Identifier: Apache-2.0
"""The checked-in stub of the native module is the one that nanobind generates."""

from __future__ import annotations

from pathlib import Path

import pytest

import onnx_argmax
from onnx_argmax import _native


def test_stub_is_the_generated_one() -> None:
    stubgen = pytest.importorskip("nanobind.stubgen", reason="nanobind is not installed")
    generator = stubgen.StubGen(_native)
    generator.put(_native)
    checked_in = Path(onnx_argmax.__file__).with_name("_native.pyi").read_text()
    licence, _, stub = checked_in.partition("\n")
    assert licence == "# SPDX-License-Identifier: Apache-2.0"
    assert stub.strip() == generator.get().strip()


def test_package_is_marked_as_typed() -> None:
    assert Path(onnx_argmax.__file__).with_name("py.typed").exists()
