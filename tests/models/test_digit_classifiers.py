# SPDX-License-Identifier: Apache-2.0
"""Classifiers of handwritten digits, as scikit-learn's exporter writes them."""

from __future__ import annotations

import numpy as np
import pytest

from real_models.both_ways import Job, Outcome, run_both_ways
from real_models.digit_classifiers import CLASSIFIERS, trained

pytestmark = pytest.mark.models


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """All of them in one process."""
    jobs = [Job(trained(name).model, [trained(name).feed]) for name in CLASSIFIERS]
    ran = run_both_ways(jobs, tmp_path_factory.mktemp("digits"))
    return dict(zip(CLASSIFIERS, ran, strict=True))


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_labels_are_those_of_scikit_learn(name: str, outcomes: dict[str, Outcome]) -> None:
    classifier = trained(name)
    nodes = [node.op_type for node in classifier.model.graph.node].count("ArgMax")
    assert nodes >= 1
    (outputs,) = outcomes[name].checked(nodes)
    labels = outputs[0].reshape(-1)  # of QDA they are a row
    np.testing.assert_array_equal(labels, classifier.predicted)
    assert np.mean(labels == classifier.digits) > 0.85
