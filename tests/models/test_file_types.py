# SPDX-License-Identifier: Apache-2.0
"""The classifier of files, ArgMax appended: 214 classes, a batch of any size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from oracle import fast_argmax
from real_models import file_types
from real_models.appending import AS_BFLOAT16, AS_UINT16, Conversion, with_argmax
from real_models.both_ways import Job, run_both_ways

pytestmark = pytest.mark.models


def test_files_are_told_apart(tmp_path: Path) -> None:
    model = with_argmax(file_types.model(), file_types.SCORES, file_types.AXIS)
    files = file_types.files()
    feeds = [file_types.feed(files.values())]
    feeds += [file_types.feed([content]) for content in files.values()]
    (outcome,) = run_both_ways([Job(model, feeds)], tmp_path)
    together, *one_by_one = [labels for labels, _ in outcome.checked(nodes=1)]
    kinds = [file_types.kinds()[label] for label in together]
    print(kinds)
    assert kinds == list(files)
    np.testing.assert_array_equal(np.concatenate(one_by_one), together)


@pytest.mark.parametrize("conversion", [AS_BFLOAT16, AS_UINT16], ids=str)
def test_files_are_told_apart_in_types_that_the_runtime_lacks(
    conversion: Conversion, tmp_path: Path
) -> None:
    model = with_argmax(
        file_types.model(), file_types.SCORES, file_types.AXIS, conversion=conversion
    )
    files = file_types.files()
    job = Job(model, [file_types.feed(files.values())], alone=False)
    (outcome,) = run_both_ways([job], tmp_path)
    ((labels, scores),) = outcome.checked(nodes=1)
    expected = fast_argmax(conversion.of(scores), file_types.AXIS, keepdims=False)
    np.testing.assert_array_equal(labels, expected)
    assert [file_types.kinds()[label] for label in labels] == list(files)
