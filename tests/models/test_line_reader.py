# SPDX-License-Identifier: Apache-2.0
"""The reader of printed lines, ArgMax appended: 6,906 classes along the last axis."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx.version_converter
import pytest

from oracle import fast_argmax
from real_models import line_reader
from real_models.appending import (
    AS_BFLOAT16,
    AS_FLOAT16,
    AS_UINT16,
    Conversion,
    with_argmax,
)
from real_models.both_ways import Job, run_both_ways

pytestmark = pytest.mark.models


def test_the_line_is_read(tmp_path: Path) -> None:
    published = line_reader.model()
    model = with_argmax(published, line_reader.SCORES, line_reader.AXIS)
    (outcome,) = run_both_ways([Job(model, [line_reader.feed()])], tmp_path)
    ((labels, scores),) = outcome.checked(nodes=1)
    np.testing.assert_array_equal(labels, fast_argmax(scores, line_reader.AXIS, keepdims=False))
    text = line_reader.text_of(published, labels[0])
    print(text)
    assert text == line_reader.TEXT


@pytest.mark.parametrize("conversion", [AS_BFLOAT16, AS_FLOAT16, AS_UINT16], ids=str)
def test_the_line_is_read_in_types_that_the_runtime_lacks(
    conversion: Conversion, tmp_path: Path
) -> None:
    published = line_reader.model()
    model = with_argmax(
        # bfloat16 came to ArgMax with version 13.
        onnx.version_converter.convert_version(published, 13),
        line_reader.SCORES,
        line_reader.AXIS,
        conversion=conversion,
    )
    (outcome,) = run_both_ways([Job(model, [line_reader.feed()], alone=False)], tmp_path)
    ((labels, scores),) = outcome.checked(nodes=1)
    expected = fast_argmax(conversion.of(scores), line_reader.AXIS, keepdims=False)
    np.testing.assert_array_equal(labels, expected)
    assert line_reader.text_of(published, labels[0]) == line_reader.TEXT
