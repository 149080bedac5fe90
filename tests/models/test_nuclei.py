# SPDX-License-Identifier: Apache-2.0
"""The nucleus segmenter, ArgMax appended: two classes along the channels of a megapixel."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from oracle import fast_argmax
from real_models import nuclei
from real_models.appending import AS_FLOAT16, with_argmax
from real_models.both_ways import Job, run_both_ways

pytestmark = [pytest.mark.models, pytest.mark.slow]

TILES = ((0, 0), (800, 1200), (1700, 2600))


def test_nuclei_are_found(tmp_path: Path) -> None:
    model = with_argmax(nuclei.model(), nuclei.SCORES, nuclei.AXIS)
    feeds = [nuclei.feed(row, column) for row, column in TILES]
    (outcome,) = run_both_ways([Job(model, feeds)], tmp_path)
    for labels, scores in outcome.checked(nodes=1):
        assert labels.shape == (1, nuclei.SIDE, nuclei.SIDE)
        expected = fast_argmax(scores, nuclei.AXIS, keepdims=False)
        np.testing.assert_array_equal(labels, expected)
        share = labels.mean()
        print(f"{share:.1%} of the tile are nuclei")
        assert 0.05 < share < 0.2


def test_nuclei_are_found_in_float16(tmp_path: Path) -> None:
    """Rounded to float16 the two logits of some pixels tie, and the first class wins."""
    model = with_argmax(nuclei.model(), nuclei.SCORES, nuclei.AXIS, conversion=AS_FLOAT16)
    (outcome,) = run_both_ways([Job(model, [nuclei.feed(*TILES[0])], alone=False)], tmp_path)
    ((labels, scores),) = outcome.checked(nodes=1)
    rounded = AS_FLOAT16.of(scores)
    assert (rounded[:, 0] == rounded[:, 1]).any()
    np.testing.assert_array_equal(labels, fast_argmax(rounded, nuclei.AXIS, keepdims=False))
