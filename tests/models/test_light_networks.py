# SPDX-License-Identifier: Apache-2.0
"""Networks whose 1,000 scores are all equal: the first index, or the last one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from real_models import light_networks
from real_models.appending import with_argmax
from real_models.both_ways import Job, run_both_ways

pytestmark = pytest.mark.models


@pytest.mark.parametrize(
    ("opset", "attributes", "label"),
    [(None, {}, 0), (13, {"select_last_index": 0}, 0), (13, {"select_last_index": 1}, 999)],
    ids=["version 1", "first", "last"],
)
def test_all_classes_tie(
    opset: int | None, attributes: Mapping[str, int], label: int, tmp_path: Path
) -> None:
    jobs: list[Job] = []
    for name in light_networks.NAMES:
        network = light_networks.model(name, opset)
        scores = light_networks.scores_of(network)
        model = with_argmax(network, scores, light_networks.AXIS, **attributes)
        jobs.append(Job(model, [light_networks.feed(network)]))
    assert len(jobs) == 9
    for outcome in run_both_ways(jobs, tmp_path):
        ((labels, scores),) = outcome.checked(nodes=1)
        assert np.unique(scores).size == 1
        assert labels.reshape(-1).tolist() == [label]
