# SPDX-License-Identifier: Apache-2.0
"""A real model by ONNX Runtime alone and with the provider: both checked, then timed in turns."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import onnx

from benchmarks.data import Array
from benchmarks.measure import Timing, interleaved
from benchmarks.run import WrongAnswerError

__all__ = ["ALONE", "OURS", "ModelResult", "run_model"]

ALONE: Final = "ONNX Runtime"
OURS: Final = "onnx-argmax"

_PROFILED_RUNS: Final = 15
_LEAST_PROFILED_RUNS: Final = 5
_PROFILED_SECONDS: Final = 5
"""What all profiled runs of a large model may take."""
_ONLY_ERRORS: Final = 3


@dataclass(frozen=True)
class ModelResult:
    """Seconds of one model, by who ran its ArgMax nodes."""

    name: str
    nodes: int
    """ArgMax nodes of the model."""
    threads: int
    whole: dict[str, Timing]
    """A run of the whole model."""
    argmax: dict[str, float]
    """The ArgMax nodes of a run together, by the runtime's own profile; the median."""

    @property
    def share(self) -> float:
        """What part of ONNX Runtime's own time for the model is ArgMax."""
        return self.argmax[ALONE] / self.whole[ALONE].median


def run_model(
    name: str, model: onnx.ModelProto, feed: Mapping[str, Array], threads: int
) -> ModelResult:
    """Check that both ways agree, then time the model and its ArgMax nodes.

    Raises
    ------
    benchmarks.run.WrongAnswerError
        Where the outputs differ, or the provider did not run every ArgMax.
    """
    packed = model.SerializeToString()
    calls = {way: _Call(_session(way, packed, threads), feed) for way in (ALONE, OURS)}
    for ours, alone in zip(calls[OURS](), calls[ALONE](), strict=True):
        if not np.array_equal(ours, alone):
            raise WrongAnswerError(f"{name}: the outputs with and without the provider differ")
    whole = interleaved(calls)
    runs = max(
        _LEAST_PROFILED_RUNS,
        min(_PROFILED_RUNS, int(_PROFILED_SECONDS / (2 * whole[ALONE].median))),
    )
    nodes, argmax = _profiled(name, packed, feed, threads, runs)
    return ModelResult(name, nodes, threads, whole, argmax)


@dataclass(frozen=True)
class _Call:
    """A run with everything at hand."""

    session: Any
    feed: Mapping[str, Array]

    def __call__(self) -> list[Array]:
        return self.session.run(None, self.feed)


def _session(way: str, model: bytes, threads: int, profile: Path | None = None) -> Any:
    import onnxruntime

    from onnx_argmax import ort

    options: Any = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = _ONLY_ERRORS
    # Its threads spin while a run lasts, as ever, but not on into the next one's turn.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    if profile is not None:
        options.enable_profiling = True
        options.profile_file_prefix = str(profile)
    if way == OURS:
        return ort.InferenceSession(model, options)
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _profiled(
    name: str, model: bytes, feed: Mapping[str, Array], threads: int, runs: int
) -> tuple[int, dict[str, float]]:
    """How many nodes there are, and the seconds of all of them in a run."""
    from onnx_argmax import ort
    from real_models.profiles import argmax_runs

    with TemporaryDirectory() as folder:
        calls = {
            way: _Call(_session(way, model, threads, Path(folder, str(number))), feed)
            for number, way in enumerate((ALONE, OURS))
        }
        for _ in range(1 + runs):
            for call in calls.values():
                call()
        found = {
            way: argmax_runs(Path(call.session.end_profiling())) for way, call in calls.items()
        }
    if {run.provider for run in found[OURS]} != {ort.get_ep_name()}:
        raise WrongAnswerError(f"{name}: the provider did not run every ArgMax")
    nodes = len(found[OURS]) // (1 + runs)
    seconds = {
        way: np.array([run.seconds for run in all_runs]).reshape(1 + runs, -1).sum(1)
        for way, all_runs in found.items()
    }
    # The first run finds its code and memory cold.
    return nodes, {way: statistics.median(each[1:]) for way, each in seconds.items()}
