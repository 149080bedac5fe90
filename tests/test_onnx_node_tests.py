# SPDX-License-Identifier: Apache-2.0
"""ONNX's own node tests of ArgMax through its own runner, on our backend."""

from __future__ import annotations

import unittest
import warnings
from typing import Any, Final

import onnx.backend.test

from documented import EXAMPLES
from onnx_argmax.backend import ArgMaxBackend


def official_tests() -> dict[str, Any]:
    """The runner's test functions for ArgMax on the CPU; for a GPU it makes the same again."""
    with warnings.catch_warnings():
        # Building all of its cases overflows on purpose in some of other operators.
        warnings.simplefilter("ignore")
        runner = onnx.backend.test.BackendTest(ArgMaxBackend, __name__)
    runner.include("^test_argmax_.*_cpu$")
    cases = runner.test_cases["OnnxBackendNodeModelTest"]
    return {
        name: test
        for name, test in vars(cases).items()
        if name.startswith("test_argmax_") and name.endswith("_cpu")
    }


OFFICIAL_TESTS: Final = official_tests()
TestArgMaxNodes = type("TestArgMaxNodes", (unittest.TestCase,), dict(OFFICIAL_TESTS))


def test_report_90_all_of_the_official_tests_are_run() -> None:
    """A list that shrinks, or tests that are skipped, must not look like success."""
    assert set(OFFICIAL_TESTS) == {f"{example.name}_cpu" for example in EXAMPLES}
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(TestArgMaxNodes).run(result)
    assert (result.testsRun, result.skipped, result.errors, result.failures) == (16, [], [], [])
