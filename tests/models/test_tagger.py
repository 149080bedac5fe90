# SPDX-License-Identifier: Apache-2.0
"""The Arabic tagger: ArgMax twice inside, int64 labels that a Where joins."""

from __future__ import annotations

from pathlib import Path

import pytest

from real_models import tagger
from real_models.both_ways import Job, run_both_ways

pytestmark = pytest.mark.models


def test_sentences_come_out_vocalised(tmp_path: Path) -> None:
    model = tagger.model()
    feeds = [tagger.feed(sentence) for sentence in tagger.SENTENCES]
    (outcome,) = run_both_ways([Job(model, feeds)], tmp_path)
    outputs = outcome.checked(nodes=2)
    texts = [
        tagger.vocalised(sentence, classes[0])
        for sentence, (classes,) in zip(tagger.SENTENCES, outputs, strict=True)
    ]
    print(*texts, sep="\n")
    assert texts == list(tagger.SENTENCES.values())
