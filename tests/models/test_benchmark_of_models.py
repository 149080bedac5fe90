# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.models``: every figure has its place; no figure is asserted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command import Outcome, python

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.models


def bench(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Outcome:
    monkeypatch.chdir(ROOT)
    return python("-m", "benchmarks.models", *arguments)


def test_both_times_of_model_and_operator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "figures.json"
    outcome = bench(
        monkeypatch, "--model", "light/shuffle*", "--model", "digits/AdaBoost", "--json", str(path)
    )
    text = outcome.accepted()
    assert "light/shufflenet" in text
    figures = json.loads(path.read_text("utf-8"))
    assert "ONNX Runtime" in figures["versions"]
    boosted, light = figures["models"]
    assert (boosted["name"], light["name"]) == ("digits/AdaBoost", "light/shufflenet")
    assert (boosted["nodes"], light["nodes"]) == (21, 1)
    for result in (boosted, light):
        assert set(result["whole"]) == set(result["argmax"]) == {"ONNX Runtime", "onnx-argmax"}
        assert all(timing["rounds"] >= 7 for timing in result["whole"].values())
        assert result["share"] == pytest.approx(
            result["argmax"]["ONNX Runtime"] / result["whole"]["ONNX Runtime"]["median"],
            rel=1e-3,
        )


def test_unknown_models_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = bench(monkeypatch, "--model", "none/*")
    assert outcome.status == 2
    assert "--model: no model of that name; there are Arabic tagger, line reader" in outcome.err
